"""Small models and batches that many tests need, with sizes that are all different."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLmState, BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.word_embedding import WordEmbeddingConfig
from elmo_torch.text.char_ids import CharIds

__all__ = [
    "CELL",
    "PROJ",
    "bilm_config",
    "char_batch",
    "char_cnn_config",
    "fill",
    "largest_difference",
    "lstm_config",
    "pad",
    "random_bilm",
    "random_state",
    "read_json",
    "word_bilm_config",
]

PROJ, CELL = 4, 6


def char_cnn_config(
    *,
    char_dim: int = 3,
    filters: tuple[tuple[int, int], ...] = ((1, 2), (2, 5)),
    projection_dim: int = PROJ,
    max_chars: int = 11,
    num_highway: int = 1,
    activation: str = "relu",
) -> CharCnnConfig:
    return CharCnnConfig(
        char_dim=char_dim,
        filters=filters,
        projection_dim=projection_dim,
        max_chars=max_chars,
        num_highway=num_highway,
        activation=activation,
    )


def lstm_config(
    *,
    cell_dim: int = CELL,
    projection_dim: int = PROJ,
    num_layers: int = 2,
    cell_clip: float | None = 3.0,
    proj_clip: float | None = 3.0,
    residual: bool = True,
) -> BiLstmpConfig:
    return BiLstmpConfig(
        cell_dim=cell_dim,
        projection_dim=projection_dim,
        num_layers=num_layers,
        cell_clip=cell_clip,
        proj_clip=proj_clip,
        residual=residual,
    )


def bilm_config(
    token_encoder: CharCnnConfig | None = None, lstm: BiLstmpConfig | None = None
) -> BiLmConfig:
    return BiLmConfig(token_encoder=token_encoder or char_cnn_config(), lstm=lstm or lstm_config())


def word_bilm_config(*, vocab_size: int = 7) -> BiLmConfig:
    encoder = WordEmbeddingConfig(vocab_size=vocab_size, projection_dim=PROJ)
    return BiLmConfig(token_encoder=encoder, lstm=lstm_config())


def fill(module: nn.Module, seed: int = 0, scale: float = 0.7) -> None:
    """Give every parameter normal noise, biases too; the padding row of a table stays zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
        for table in module.modules():
            if isinstance(table, nn.Embedding) and table.padding_idx is not None:
                table.weight[table.padding_idx] = 0


def random_bilm(config: BiLmConfig, *, seed: int = 0) -> BiLm:
    """Return a biLM in float64, so that equal computations agree to about 1e-15."""
    bilm = BiLm(config)
    fill(bilm, seed)
    return bilm.double()


def random_state(config: BiLstmpConfig, batch: int, *, seed: int = 1) -> BiLmState:
    generator = torch.Generator().manual_seed(seed)

    def draw(width: int) -> Tensor:
        shape = (config.num_layers, batch, width)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return BiLmState(hidden=draw(2 * config.projection_dim), memory=draw(2 * config.cell_dim))


def char_batch(sentences: Sequence[Sequence[str]], *, max_chars: int = 11) -> Tensor:
    """Return char ids (batch, tokens, chars) without boundary tokens, padded with zeros."""
    encoder = CharIds(max_chars)
    return pad([torch.from_numpy(encoder.encode(words)) for words in sentences])


def pad(rows: Sequence[Tensor]) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def largest_difference(one: Tensor, other: Tensor) -> float:
    assert one.shape == other.shape
    return float((one - other).abs().max())


def read_json(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"))
