"""Weights in the order of the kernel, and back."""

import pytest
import torch

from elmo_torch.kernels.layouts import pack_bias, pack_columns, pack_gates, pad_to, padded
from elmo_torch.kernels.library import Method

FLOATS = [Method.GENERIC, Method.AVX2, Method.AVX512]


@pytest.mark.parametrize(("width", "expected"), [(1, 64), (64, 64), (65, 128), (512, 512)])
def test_widths_are_padded_to_multiples_of_64(width: int, expected: int) -> None:
    assert padded(width) == expected


def test_padding_adds_zeros_at_the_end_only() -> None:
    x = torch.ones(2, 3)
    assert torch.equal(pad_to(x, 5), torch.tensor([[1.0, 1, 1, 0, 0]] * 2))
    assert pad_to(x, 3) is x


@pytest.mark.parametrize("method", FLOATS)
def test_a_block_of_gates_holds_all_four_of_the_same_cells(method: Method) -> None:
    cells, width, lanes = 70, 5, method.lanes
    weight = torch.arange(1.0, 4 * cells * width + 1).view(4 * cells, width)
    packed, scales = pack_gates(weight, method)
    assert scales is None
    assert packed.shape == (padded(cells) // lanes, padded(width), 4, lanes)
    for cell in range(padded(cells)):
        for gate in range(4):
            column = packed[cell // lanes, :, gate, cell % lanes]
            expected = weight[gate * cells + cell] if cell < cells else torch.zeros(width)
            assert torch.equal(column, pad_to(expected, padded(width)))


@pytest.mark.parametrize("method", [*FLOATS, Method.INT8])
def test_the_bias_goes_the_same_way(method: Method) -> None:
    cells = 66
    bias = torch.arange(1.0, 4 * cells + 1)
    packed = pack_bias(bias, method).view(-1, 4, method.lanes)
    for cell in range(cells):
        got = packed[cell // method.lanes, :, cell % method.lanes]
        assert torch.equal(got, bias.view(4, cells)[:, cell])


@pytest.mark.parametrize("method", [Method.FIXED, Method.INT8, Method.BF16])
def test_the_numbers_of_a_tile_are_those_of_the_weight(method: Method) -> None:
    generator = torch.Generator().manual_seed(0)
    columns, width = 70, 130
    weight = torch.randn(columns, width, generator=generator)
    weight *= torch.logspace(-3, 3, columns)[:, None]
    packed, scales = pack_columns(weight, method)
    # (blocks, 4, tiles along the width, digits, 16 groups, 16 columns, group)
    digits = packed.double().permute(3, 0, 1, 5, 2, 4, 6).flatten(4).flatten(1, 3)
    values = sum(digit * 256.0**place for place, digit in enumerate(digits.flip(0)))
    if scales is not None:
        values = values * scales.double().flatten()[:, None]
    assert isinstance(values, torch.Tensor)
    got, rest = values[:columns, :width], values.clone()
    rest[:columns, :width] = 0
    assert not rest.any()
    largest = weight.abs().amax(dim=1, keepdim=True)
    # half a step of 24, 7 and 8 bits and sign; dividing by the scale rounds in float32's 24 bits too
    step = {Method.FIXED: 2**-22, Method.INT8: 1 / 127, Method.BF16: 2**-7}[method]
    assert ((got - weight).abs() / largest).max() <= 0.5001 * step


def test_digits_stay_within_what_a_byte_holds() -> None:
    weight = torch.tensor([[1.0, -1.0, 0.5, -0.5, 127 / 128, -127 / 128, 1 / 256, 0]])
    packed, _ = pack_columns(weight, Method.FIXED)
    assert packed.dtype == torch.int8
    top = packed[0, 0, 0, :, :, 0, :].flatten(1)[:, :8]  # (digits, the row's numbers)
    assert top[0].tolist()[:2] == [127, -127]
