"""Words to the ids of a word-input model: line k of the vocabulary is id k + 1, and 0 is padding."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elmo_torch.text.vocabulary import Vocabulary

__all__ = ["WordIds"]


class WordIds:
    """Encoder of word types into one id each; unknown words become ``<UNK>``."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def encode(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return ids (types,)."""
        return self._vocabulary.ids(words) + 1

    def boundaries(self) -> NDArray[np.int64]:
        """Return the ids of BOS and EOS, (2,)."""
        return np.array([self._vocabulary.bos, self._vocabulary.eos]) + 1
