"""The table of word-input models."""

import pytest
import torch

from elmo_torch.nn.word_embedding import WordEmbedding, WordEmbeddingConfig


def test_ids_are_rows_and_padding_is_zero() -> None:
    table = WordEmbedding(WordEmbeddingConfig(vocab_size=5, projection_dim=4))
    vectors = table(torch.tensor([0, 5, 1]))
    assert vectors.shape == (3, 4)
    assert not vectors[0].any()
    assert torch.equal(vectors[1:], table.word_embedding.weight[[5, 1]])
    assert len(table.word_embedding.weight) == 6


@pytest.mark.parametrize("name", ["vocab_size", "projection_dim"])
def test_an_empty_table_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1; got 0"):
        WordEmbeddingConfig(**{"vocab_size": 3, "projection_dim": 2, name: 0})
