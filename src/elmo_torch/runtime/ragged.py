"""A batch of sentences of unequal lengths without padding: time step after time step.

Sentences are sorted, longest first, so the ones that a step reads are always the first ones. The rows
of a step follow those of the step before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["RaggedBatch", "StepRange"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRange:
    """Some time steps in succession."""

    batch_sizes: tuple[int, ...]  # sentences that each step reads
    rows: slice


class RaggedBatch:
    """The order of the rows of a batch; every length is at least 1."""

    def __init__(self, lengths: Sequence[int]) -> None:
        given = np.asarray(lengths)
        self.order = np.argsort(-given, kind="stable")  # sentence of each rank
        self._lengths = given[self.order]
        longest = int(self._lengths[0])
        # at step t all sentences longer than t are read
        self._batch_sizes = np.searchsorted(-self._lengths, -np.arange(longest), side="left")
        self._offsets = np.cumsum(self._batch_sizes) - self._batch_sizes

    @property
    def num_rows(self) -> int:
        """Tokens of the batch."""
        return int(self._lengths.sum())

    def sentence_rows(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield every sentence, as its place in the given order, with the rows of its tokens."""
        for rank, (sentence, length) in enumerate(zip(self.order, self._lengths, strict=True)):
            yield int(sentence), self._offsets[:length] + rank

    def ranges(self, max_rows: int) -> list[StepRange]:
        """Return all steps, as many in one range as have ``max_rows`` together, one at least."""
        ranges = []
        start = 0
        ends = self._offsets + self._batch_sizes
        while start < len(ends):
            stop = int(np.searchsorted(ends, self._offsets[start] + max_rows, side="right"))
            stop = max(stop, start + 1)
            ranges.append(
                StepRange(
                    batch_sizes=tuple(self._batch_sizes[start:stop].tolist()),
                    rows=slice(int(self._offsets[start]), int(ends[stop - 1])),
                )
            )
            start = stop
        return ranges
