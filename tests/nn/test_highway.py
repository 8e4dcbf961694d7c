"""The highway layer and the sense of its gate."""

import torch

from elmo_torch.nn.highway import Highway
from tests.helpers import fill

TYPES, WIDTH = 3, 5


def _highway(gate_bias: float) -> tuple[Highway, torch.Tensor]:
    highway = Highway(WIDTH)
    fill(highway)
    torch.nn.init.zeros_(highway.gate.weight)
    torch.nn.init.constant_(highway.gate.bias, gate_bias)
    return highway, torch.randn(TYPES, WIDTH, generator=torch.Generator().manual_seed(1))


def test_an_open_gate_lets_the_transformed_input_through() -> None:
    highway, x = _highway(gate_bias=50.0)
    # sigmoid(50) is 1 in float32, so nothing of x is left
    torch.testing.assert_close(highway(x), highway.transform(x).relu(), rtol=0, atol=0)


def test_a_closed_gate_carries_the_input() -> None:
    highway, x = _highway(gate_bias=-200.0)
    # sigmoid(-200) is 0 in float32
    torch.testing.assert_close(highway(x), x, rtol=0, atol=0)


def test_a_gate_at_one_half_gives_the_mean_of_both() -> None:
    highway, x = _highway(gate_bias=0.0)
    # one float32 rounding of numbers of about 1
    torch.testing.assert_close(highway(x), (highway.transform(x).relu() + x) / 2, rtol=0, atol=1e-6)
