"""Token-layer vectors of a given list of words, looked up by word id in place of their spelling.

Word id k is entry k of the list. Id 0 is padding, so the list begins with a word that stands for it.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_torch.nn.bilm import real_tokens
from elmo_torch.nn.char_cnn import CharCnn
from elmo_torch.nn.elmo import add_boundaries
from elmo_torch.text.char_ids import CharIds

__all__ = ["CachedWords"]

_CHUNK_WORDS = 256  # words in one pass of the char CNN, whose convolutions need about 1 MB a word


class CachedWords(nn.Module):
    """A table of the words' vectors, BOS and EOS after them.

    If trainable, the table itself learns, as AllenNLP's does; the char CNN behind it does not.
    """

    boundary_ids: Tensor

    def __init__(self, words: Sequence[str], char_cnn: CharCnn, *, trainable: bool) -> None:
        super().__init__()
        self.num_words = len(words)
        spelling = CharIds(char_cnn.config.max_chars)
        with torch.no_grad():
            table = torch.cat(
                [
                    char_cnn(torch.from_numpy(spelling.encode(words[start : start + _CHUNK_WORDS])))
                    for start in range(0, len(words), _CHUNK_WORDS)
                ]
                + [char_cnn(torch.from_numpy(spelling.boundaries()))]
            )
        table[0] = 0
        self.table = nn.Parameter(table, requires_grad=trainable)
        boundary_ids = torch.tensor([len(words), len(words) + 1])
        self.register_buffer("boundary_ids", boundary_ids, persistent=False)

    def holds(self, word_ids: Int[Tensor, "batch tokens"]) -> bool:
        """Return whether every id is of the list."""
        return bool(((word_ids >= 0) & (word_ids < self.num_words)).all())

    def forward(
        self, word_ids: Int[Tensor, "batch tokens"]
    ) -> tuple[Float[Tensor, "batch longer proj"], Bool[Tensor, "batch longer"]]:
        """Return the vectors of the sentences with their boundary tokens, and the mask of both."""
        framed = add_boundaries(word_ids, self.boundary_ids)
        return F.embedding(framed, self.table, padding_idx=0), real_tokens(framed)
