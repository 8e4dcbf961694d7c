"""The char CNN against its equations, for every shape an options file can ask for."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from elmo_torch.nn.char_cnn import CharCnn, CharCnnConfig
from elmo_torch.nn.highway import Highway
from elmo_torch.text.char_ids import CharIds
from tests.helpers import char_cnn_config, fill

WORDS = ["a", "", "Wort", "\u00e9\u00e8\u00ea\u00eb\u00fc", "extraordinary", "<S>"]


def _cnn(config: CharCnnConfig) -> CharCnn:
    cnn = CharCnn(config)
    fill(cnn, seed=3)
    return cnn.double().requires_grad_(False)


def _ids(max_chars: int, words: list[str] = WORDS) -> Tensor:
    return torch.from_numpy(CharIds(max_chars).encode(words))


def _by_the_equations(cnn: CharCnn, char_ids: Tensor) -> Tensor:
    """Return the vectors from one window at a time, activation before the maximum."""
    activation = {"relu": torch.relu, "tanh": torch.tanh}[cnn.config.activation]
    parts: list[Tensor] = []
    for convolution, (width, _) in zip(cnn.convolutions, cnn.config.filters, strict=True):
        assert isinstance(convolution, nn.Conv1d)
        assert convolution.bias is not None
        kernel = convolution.weight.transpose(1, 2).flatten(1)  # (count, width * char_dim)
        scores = [
            activation(
                cnn.char_embedding(char_ids[:, start : start + width]).flatten(1) @ kernel.T
                + convolution.bias
            )
            for start in range(cnn.config.max_chars - width + 1)
        ]
        parts.append(torch.stack(scores).amax(dim=0))
    x = torch.cat(parts, dim=-1)
    for highway in cnn.highways:
        assert isinstance(highway, Highway)
        gate = 1 / (1 + torch.exp(-(x @ highway.gate.weight.T + highway.gate.bias)))
        transformed = (x @ highway.transform.weight.T + highway.transform.bias).clamp(min=0)
        x = gate * transformed + (1 - gate) * x
    if cnn.projection is not None:
        x = x @ cnn.projection.weight.T + cnn.projection.bias
    return x


@pytest.mark.parametrize(
    "config",
    [
        char_cnn_config(),
        char_cnn_config(activation="tanh"),
        char_cnn_config(num_highway=0),
        char_cnn_config(num_highway=2, activation="tanh"),
        char_cnn_config(projection_dim=7),  # as many as there are filters: no projection
        char_cnn_config(max_chars=16),
        char_cnn_config(
            max_chars=5, filters=((5, 2), (1, 1), (3, 4))
        ),  # a window of the whole word
    ],
    ids=["relu", "tanh", "no highway", "two highways", "no projection", "16 chars", "5 chars"],
)
def test_vectors_follow_the_equations(config: CharCnnConfig) -> None:
    cnn = _cnn(config)
    ids = _ids(config.max_chars)
    vectors = cnn(ids)
    assert vectors.shape == (len(WORDS), config.projection_dim)
    # float64 on both sides: only the order of sums differs
    torch.testing.assert_close(vectors, _by_the_equations(cnn, ids), rtol=0, atol=1e-13)


def test_there_is_a_projection_only_where_the_widths_differ() -> None:
    assert _cnn(char_cnn_config(projection_dim=7)).projection is None
    assert _cnn(char_cnn_config(projection_dim=6)).projection is not None


def test_only_the_first_bytes_of_a_word_count() -> None:
    cnn = _cnn(char_cnn_config(max_chars=50))
    prefix = "0123456789ab" * 4
    whole, longer, shorter = cnn(_ids(50, [prefix, prefix + "cd" * 6, prefix[:-1]]))
    assert torch.equal(whole, longer)
    assert not torch.equal(whole, shorter)


def test_positions_past_the_end_of_a_word_take_part_in_the_maximum() -> None:
    config = char_cnn_config(max_chars=11)
    cnn = _cnn(config)
    ids = _ids(11, ["ab"])
    cut = _cnn(char_cnn_config(max_chars=5))
    cut.load_state_dict(cnn.state_dict())
    assert not torch.equal(cnn(ids), cut(ids[:, :4]))


def test_the_vector_of_a_padding_row_is_not_zero() -> None:
    padding = torch.zeros(1, 11, dtype=torch.long)
    assert _cnn(char_cnn_config())(padding).abs().max() > 0.01


def test_the_padding_row_of_the_table_is_zero_and_is_not_trained() -> None:
    cnn = CharCnn(char_cnn_config())
    ids = _ids(11)
    ids[0] = 0
    cnn(ids).sum().backward()
    assert not cnn.char_embedding.weight[0].any()
    assert cnn.char_embedding.weight.grad is not None
    assert not cnn.char_embedding.weight.grad[0].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"char_dim": 0}, "char_dim must be at least 1; got 0"),
        ({"projection_dim": -1}, "projection_dim must be at least 1; got -1"),
        ({"num_highway": -1}, "num_highway must be 0 or more; got -1"),
        ({"activation": "gelu"}, "activation must be relu or tanh; got 'gelu'"),
        ({"max_chars": 2}, "max_chars must be 3 or more .*; got 2"),
        ({"filters": ()}, "filters must name at least one"),
        ({"filters": ((12, 3),)}, r"1 <= width <= max_chars \(11\).*got width 12, count 3"),
        ({"filters": ((2, 0),)}, "got width 2, count 0"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        char_cnn_config(**change)
