"""Execution of a frozen biLM over sentences of any lengths: from words to the chosen layers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from elmo_torch.kernels.crew import Crew, run_with_crew
from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.runtime.ragged import RaggedBatch
from elmo_torch.runtime.recurrent import FrozenStacks
from elmo_torch.runtime.selection import LayerSelection
from elmo_torch.runtime.type_cache import TypeCache, default_cache_bytes
from elmo_torch.runtime.type_encoder import make_type_encoder
from elmo_torch.text.char_ids import BOS_WORD, EOS_WORD, CharIds
from elmo_torch.text.word_ids import WordIds

__all__ = ["FrozenBatch", "FrozenBiLm"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenBatch:
    """Each sentence's vectors at its own length, and the state after the batch."""

    vectors: list[Float[Tensor, "kept _ dim"]]  # ragged: each its own number of tokens
    state: BiLmState | None  # None: read from the zero state, and none was asked for


class FrozenBiLm:
    """A biLM that will not be trained, its weights laid out for speed, with its cache of word types.

    ``bilm`` is not needed afterwards: with other layouts than its own, its memory can be freed.
    ``cache_bytes`` is the room for token-layer vectors of word types; 0 keeps none.
    """

    def __init__(
        self,
        bilm: BiLm,
        token_ids: CharIds | WordIds,
        *,
        precision: Precision = "fp32",
        cache_bytes: int | None = None,
    ) -> None:
        self.config = bilm.config
        self.precision = precision
        with torch.inference_mode():
            self.encoder = make_type_encoder(bilm.token_encoder, precision)
            self.stacks = FrozenStacks(bilm.lstm, precision)
        self.types = TypeCache(
            self.encoder,
            token_ids,
            projection_dim=self.config.lstm.projection_dim,
            num_bytes=default_cache_bytes() if cache_bytes is None else cache_bytes,
        )

    @torch.inference_mode()
    def run(
        self,
        sentences: Sequence[Sequence[str]],
        selection: LayerSelection,
        state: BiLmState | None = None,
        *,
        keep_boundaries: bool = False,
    ) -> FrozenBatch:
        """Return the chosen layers of one batch of sentences; from the zero state without ``state``.

        ``keep_boundaries`` leaves the rows of BOS and EOS around each sentence's own.
        """
        distinct: dict[str, int] = {}
        places = [
            [distinct.setdefault(word, len(distinct)) for word in (BOS_WORD, *sentence, EOS_WORD)]
            for sentence in sentences
        ]

        def run(crew: Crew) -> FrozenBatch:
            types = self.types.encode(list(distinct), crew)
            return self._run_types(types, places, selection, state, crew, keep_boundaries)

        return run_with_crew(run, self.encoder.device)

    def _run_types(
        self,
        types: Float[Tensor, "types proj"],
        places: Sequence[Sequence[int]],
        selection: LayerSelection,
        state: BiLmState | None,
        crew: Crew,
        keep_boundaries: bool,
    ) -> FrozenBatch:
        """Return the chosen layers of sentences given as places in a table of token-layer vectors."""
        batch = RaggedBatch([len(sentence) for sentence in places])
        rows = np.empty(batch.num_rows, dtype=np.int64)
        sentence_rows = list(batch.sentence_rows())
        for index, own in sentence_rows:
            rows[own] = places[index]
        where = types.device
        result = self.stacks.run(
            types, torch.from_numpy(rows).to(where), batch, selection, state, crew
        )

        def cut(own: NDArray[np.int64]) -> Tensor:
            """Return a sentence's rows: a copy, so that keeping one does not keep its batch."""
            own = own if keep_boundaries else own[1:-1]
            return result.vectors.index_select(1, torch.from_numpy(own).to(where))

        if len(places) == 1:  # all rows, in their order
            bounds = slice(None) if keep_boundaries else slice(1, -1)
            return FrozenBatch(vectors=[result.vectors[:, bounds]], state=result.state)
        cuts = crew.map(cut, [own for _, own in sentence_rows])
        by_sentence = dict(zip((index for index, _ in sentence_rows), cuts, strict=True))
        return FrozenBatch(
            vectors=[by_sentence[index] for index in range(len(places))], state=result.state
        )

    def zero_state(self, batch: int) -> BiLmState:
        """Return the state before any text."""
        return self.stacks.zero_state(batch)
