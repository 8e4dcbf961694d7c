"""The token encoder of word-input biLMs: a table with one vector per word of the vocabulary."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

__all__ = ["WordEmbedding", "WordEmbeddingConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WordEmbeddingConfig:
    """Sizes of the word table."""

    vocab_size: int  # words, without the padding row
    projection_dim: int  # width of the token layer

    def __post_init__(self) -> None:
        for name in ("vocab_size", "projection_dim"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")


class WordEmbedding(nn.Module):
    """Word id to token vector; id 0 is padding, id k + 1 is line k of the vocabulary."""

    def __init__(self, config: WordEmbeddingConfig) -> None:
        super().__init__()
        self.config = config
        self.word_embedding = nn.Embedding(
            config.vocab_size + 1, config.projection_dim, padding_idx=0
        )

    def forward(self, word_ids: Int[Tensor, " types"]) -> Float[Tensor, "types proj"]:
        """Return the rows of the table."""
        vectors: Tensor = self.word_embedding(word_ids)
        return vectors
