"""Stacks of recurrent layers: residual, directions, state."""

from typing import Any

import pytest
import torch
from torch import Tensor

from elmo_torch.nn.bilstmp import BiLstmp, BiLstmpConfig
from tests.helpers import CELL, PROJ, fill, lstm_config, random_state

BATCH, TOKENS = 3, 5


def _lstm(config: BiLstmpConfig) -> BiLstmp:
    lstm = BiLstmp(config)
    fill(lstm, seed=4)
    return lstm.double().requires_grad_(False)


def _vectors() -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(BATCH, TOKENS, PROJ, generator=generator, dtype=torch.float64)


def _mask() -> Tensor:
    return torch.arange(TOKENS) < torch.tensor([TOKENS, 4, 2])[:, None]


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("residual", [False, True])
def test_a_layers_input_is_added_to_its_output_from_the_second_layer_on(
    residual: bool, num_layers: int
) -> None:
    config = lstm_config(num_layers=num_layers, residual=residual)
    stack = _lstm(config).forward_layers
    state = random_state(config, BATCH)
    hidden, memory = state.hidden[..., :PROJ], state.memory[..., :CELL]
    outputs, last_hidden, _ = stack(_vectors(), hidden, memory)
    inputs = _vectors()
    for index, layer in enumerate(stack):
        plain, layer_hidden, _ = layer(inputs, hidden[index], memory[index])
        expected = plain + inputs if residual and index > 0 else plain
        assert torch.equal(outputs[index], expected)
        # the state is the recurrence's own, without the residual
        assert torch.equal(last_hidden[index], layer_hidden)
        inputs = expected


def test_the_halves_of_a_vector_are_the_directions_and_share_nothing() -> None:
    config = lstm_config()
    lstm, state = _lstm(config), random_state(config, BATCH)
    layers, after = lstm(_vectors(), _mask(), state)
    assert layers.shape == (config.num_layers, BATCH, TOKENS, 2 * PROJ)
    assert after.hidden.shape == (config.num_layers, BATCH, 2 * PROJ)
    assert after.memory.shape == (config.num_layers, BATCH, 2 * CELL)

    fill(lstm.backward_layers, seed=99)
    changed, changed_after = lstm(_vectors(), _mask(), state)
    for one, other, half in [
        (layers, changed, PROJ),
        (after.hidden, changed_after.hidden, PROJ),
        (after.memory, changed_after.memory, CELL),
    ]:
        assert torch.equal(one[..., :half], other[..., :half])
        assert not torch.equal(one[..., half:], other[..., half:])


def test_the_backward_stack_is_the_forward_stack_on_the_reversed_sentence() -> None:
    config = lstm_config()
    lstm = _lstm(config)
    lstm.backward_layers.load_state_dict(lstm.forward_layers.state_dict())
    zero = lstm.zero_state(BATCH)
    layers, after = lstm(_vectors(), None, zero)
    mirrored, mirrored_after = lstm(_vectors().flip(1), None, zero)
    # the same products on the same numbers, in float64
    torch.testing.assert_close(layers[..., PROJ:], mirrored[..., :PROJ].flip(2), rtol=0, atol=1e-14)
    torch.testing.assert_close(
        after.hidden[..., PROJ:], mirrored_after.hidden[..., :PROJ], rtol=0, atol=1e-14
    )


def test_the_zero_state_is_all_zero_and_of_the_weights_dtype() -> None:
    lstm = _lstm(lstm_config(num_layers=3))
    state = lstm.zero_state(BATCH)
    assert state.hidden.shape == (3, BATCH, 2 * PROJ)
    assert state.memory.shape == (3, BATCH, 2 * CELL)
    assert state.hidden.dtype == torch.float64
    assert not state.hidden.any()
    assert not state.memory.any()


def test_dropout_acts_on_the_input_that_the_residual_adds() -> None:
    config = lstm_config(num_layers=2)
    stack = _lstm(config).forward_layers
    hidden, memory = torch.zeros(2, BATCH, PROJ).double(), torch.zeros(2, BATCH, CELL).double()
    # with everything dropped every layer reads zeros, and its residual adds zeros
    dropped, _, _ = stack(_vectors(), hidden, memory, dropout=1.0)
    for layer, output in zip(stack, dropped, strict=True):
        expected, _, _ = layer(torch.zeros_like(_vectors()), hidden[0], memory[0])
        assert torch.equal(output, expected)


def test_a_detached_state_holds_the_same_numbers_without_history() -> None:
    config = lstm_config()
    lstm = BiLstmp(config).double()
    _, after = lstm(_vectors(), None, lstm.zero_state(BATCH))
    assert after.hidden.requires_grad
    detached = after.detach()
    assert not detached.hidden.requires_grad
    assert not detached.memory.requires_grad
    assert torch.equal(detached.hidden, after.hidden)
    assert torch.equal(detached.memory, after.memory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cell_dim": 0}, "cell_dim must be at least 1; got 0"),
        ({"projection_dim": 0}, "projection_dim must be at least 1; got 0"),
        ({"num_layers": 0}, "num_layers must be at least 1; got 0"),
        ({"projection_dim": 7}, r"projection_dim \(7\) must not be wider than cell_dim \(6\)"),
        ({"cell_clip": 0.0}, "cell_clip must be positive"),
        ({"proj_clip": -1.0}, "proj_clip must be positive"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lstm_config(**change)
