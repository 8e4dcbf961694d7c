"""The corpus as parallel streams of tokens, cut into windows for truncated back-propagation.

Every stream reads whole documents, sentence after sentence, each between its boundary tokens:
forward ``<S> w1 .. wn </S>``, backward ``</S> wn .. w1 <S>``. A token's target is the next one of
its direction; the last boundary is fed, as at use, and has no target. Both directions of a stream
stand in the same sentence, so a window has nearly the same word types twice.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elmo_torch.pretrain.corpus import BOS_TYPE, EOS_TYPE, EncodedCorpus

__all__ = ["NO_TARGET", "StreamPosition", "TokenStreams", "Window", "window_types"]

NO_TARGET = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The next tokens of every stream for one direction, in the direction's order of reading."""

    types: NDArray[np.int64]  # (streams, window) word types fed
    targets: NDArray[np.int64]  # (streams, window) word types to predict, or NO_TARGET
    starts: NDArray[np.bool_]  # (streams, window) True at the first token of a sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamPosition:
    """Where all streams stand; with the corpus and the seed it says what comes next."""

    epoch: int
    next_document: int  # place in the epoch's order
    documents: tuple[int, ...]  # document of each stream; -1: none yet
    offsets: tuple[int, ...]  # tokens of it already read, boundaries counted


class TokenStreams:
    """Endless windows over the corpus; documents come in a new random order each epoch."""

    def __init__(
        self,
        corpus: EncodedCorpus,
        *,
        num_streams: int,
        window_tokens: int,
        seed: int,
        position: StreamPosition | None = None,
    ) -> None:
        self._corpus = corpus
        self._window_tokens = window_tokens
        self._seed = seed
        start = position or StreamPosition(
            epoch=0, next_document=0, documents=(-1,) * num_streams, offsets=(0,) * num_streams
        )
        self._epoch, self._next_document = start.epoch, start.next_document
        self._order = self._shuffled()
        self._documents, self._offsets = list(start.documents), list(start.offsets)
        self._texts = [
            _framed(corpus, document) if document >= 0 else np.empty((2, 3, 0), np.int64)
            for document in self._documents
        ]

    @property
    def position(self) -> StreamPosition:
        """Where the next window begins."""
        return StreamPosition(
            epoch=self._epoch,
            next_document=self._next_document,
            documents=tuple(self._documents),
            offsets=tuple(self._offsets),
        )

    def next_windows(self) -> tuple[Window, Window]:
        """Return the next window of the forward and of the backward direction."""
        rows = np.stack([self._read(stream) for stream in range(len(self._texts))])
        # (streams, directions, fields, window)
        forward, backward = (
            Window(types=part[:, 0], targets=part[:, 1], starts=part[:, 2].astype(bool))
            for part in rows.transpose(1, 0, 2, 3)
        )
        return forward, backward

    def _read(self, stream: int) -> NDArray[np.int64]:
        pieces, missing = [], self._window_tokens
        while missing:
            text, offset = self._texts[stream], self._offsets[stream]
            if offset == text.shape[-1]:
                self._documents[stream] = self._take_document()
                self._texts[stream] = _framed(self._corpus, self._documents[stream])
                self._offsets[stream] = 0
                continue
            piece = text[..., offset : offset + missing]
            pieces.append(piece)
            missing -= piece.shape[-1]
            self._offsets[stream] += piece.shape[-1]
        return np.concatenate(pieces, axis=-1)

    def _take_document(self) -> int:
        if self._next_document == len(self._order):
            self._epoch, self._next_document = self._epoch + 1, 0
            self._order = self._shuffled()
        self._next_document += 1
        return int(self._order[self._next_document - 1])

    def _shuffled(self) -> NDArray[np.int64]:
        generator = np.random.default_rng([self._seed, self._epoch])
        return generator.permutation(len(self._corpus.document_starts) - 1)


def window_types(
    *windows: Window,
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the distinct word types of the windows, and each window's places among them."""
    types = np.stack([window.types for window in windows])
    distinct, places = np.unique(types, return_inverse=True)
    return distinct, list(places.reshape(types.shape))


def _framed(corpus: EncodedCorpus, document: int) -> NDArray[np.int64]:
    """Return a document as (directions, [types, targets, starts], tokens with boundaries)."""
    ids, lengths = corpus.document(document)
    framed_ends = np.cumsum(lengths + 2)
    framed_starts = framed_ends - lengths - 2
    total = int(framed_ends[-1])
    # place of every word in the framed text, and the same counted from the end of its sentence
    words = np.arange(len(ids)) + 1 + 2 * np.repeat(np.arange(len(lengths)), lengths)
    mirror = np.repeat(framed_starts + framed_ends - 1, lengths) - words
    rows = np.empty((2, 3, total), dtype=np.int64)
    rows[:, 2] = 0
    rows[:, 2, framed_starts] = 1
    for direction, (places, first, last) in enumerate(
        ((words, BOS_TYPE, EOS_TYPE), (mirror, EOS_TYPE, BOS_TYPE))
    ):
        types, targets = rows[direction, 0], rows[direction, 1]
        types[framed_starts], types[framed_ends - 1], types[places] = first, last, ids
        targets[:-1] = types[1:]
        targets[framed_ends - 1] = NO_TARGET
    return rows
