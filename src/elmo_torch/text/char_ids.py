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
_NUM_MARKS = 2  # begin and end of word
_BOUNDARY_IDS = {BOS_WORD: _BOS, EOS_WORD: _EOS}


class CharIds:
    """Encoder of word types into rows of ``max_chars`` ids."""

    def __init__(self, max_chars: int = 50) -> None:
        if max_chars <= _NUM_MARKS:
            raise ValueError(f"max_chars must be 3 or more (two marks, one byte); got {max_chars}")
        self.max_chars = max_chars

    def encode(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return ids (types, chars). Lone surrogates have no bytes and are dropped."""
        width = self.max_chars - _NUM_MARKS
        spellings = [
            b"-" if word in _BOUNDARY_IDS else word.encode("utf-8", "ignore")[:width]
            for word in words
        ]
        lengths = np.array([len(spelling) for spelling in spellings], dtype=np.int64)
        padded = b"".join(spelling.ljust(width) for spelling in spellings)
        spelled = np.frombuffer(padded, dtype=np.uint8).reshape(len(words), width)  # (types, width)

        ids = np.full((len(words), self.max_chars), _PAD, dtype=np.int64)
        ids[:, 0] = _BOW
        is_byte = np.arange(width) < lengths[:, None]
        np.add(spelled, _BYTE_SHIFT, out=ids[:, 1:-1], where=is_byte, dtype=np.int64)
        ids[np.arange(len(words)), lengths + 1] = _EOW
        for row, word in enumerate(words):
            if word in _BOUNDARY_IDS:
                ids[row, 1] = _BOUNDARY_IDS[word]
        return ids

    def boundaries(self) -> NDArray[np.int64]:
        """Return the ids of BOS and EOS, (2, chars)."""
        return self.encode([BOS_WORD, EOS_WORD])
