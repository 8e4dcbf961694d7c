"""Spelling to char ids in the bilm-tf scheme: UTF-8 bytes between two word marks.

Ids are shifted by one, so that 0 is sentence padding: bytes are 1..256, then the marks below.
A word keeps its first ``max_chars - 2`` bytes, which may cut inside a character.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOS_WORD", "EOS_WORD", "CharIds"]

BOS_WORD = "<S>"  # as an input word it becomes the boundary token, not its spelling
EOS_WORD = "</S>"

_BOS, _EOS, _BOW, _EOW, _PAD = 257, 258, 259, 260, 261
_BYTE_SHIFT = 1


class CharIds:
    """Encoder of word types into rows of ``max_chars`` ids."""

    def __init__(self, max_chars: int = 50) -> None:
        self.max_chars = max_chars

    def encode(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return ids (types, chars). Lone surrogates have no bytes and are dropped."""
        ids = np.full((len(words), self.max_chars), _PAD, dtype=np.int64)
        ids[:, 0] = _BOW
        for row, word in zip(ids, words, strict=True):
            spelling = self._spelling(word)
            row[1 : len(spelling) + 1] = spelling
            row[len(spelling) + 1] = _EOW
        return ids

    def _spelling(self, word: str) -> NDArray[np.int64]:
        if word == BOS_WORD:
            return np.array([_BOS])
        if word == EOS_WORD:
            return np.array([_EOS])
        kept = word.encode("utf-8", "ignore")[: self.max_chars - 2]
        return np.frombuffer(kept, dtype=np.uint8).astype(np.int64) + _BYTE_SHIFT

    def boundaries(self) -> NDArray[np.int64]:
        """Return the ids of BOS and EOS, (2, chars)."""
        return self.encode([BOS_WORD, EOS_WORD])
