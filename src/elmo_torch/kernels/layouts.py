"""Weights in the order in which the compiled kernel reads them.

Columns come in blocks of four vectors of ``lanes``. In a layer's gate weights the four are the input,
forget, candidate and output gates of the same cells. Widths are padded with zeros to multiples of 64:
a cell of zeros stays zero.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from elmo_torch.kernels.library import Method

__all__ = ["Packed", "pack_bias", "pack_columns", "pack_gates", "pad_to", "padded"]

Packed = tuple[Tensor, Tensor | None]  # the weights; with int8 a scale for each column

_MULTIPLE = 64
_ROWS_OF_TILE = 16  # groups of numbers along the width that one tile of weights holds
_INT8_LARGEST = 127
_FIXED_LARGEST = 0x7F7F00  # no digit passes 127, rounding included


def padded(width: int) -> int:
    """Return the width with its padding."""
    return -(-width // _MULTIPLE) * _MULTIPLE


def pad_to(x: Tensor, width: int) -> Tensor:
    """Return x with zeros added to its last axis."""
    return F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x


def pack_columns(weight: Float[Tensor, "columns width"], method: Method) -> Packed:
    """Return the weights of a plain product, packed."""
    columns, width = weight.shape
    weight = F.pad(weight, (0, padded(width) - width, 0, padded(columns) - columns))
    return _pack(weight.view(-1, 4, method.lanes, padded(width)), method)


def pack_gates(weight: Float[Tensor, "gates width"], method: Method) -> Packed:
    """Return the weights of a layer's gates, packed."""
    return _pack(_gate_blocks(pad_to(weight, padded(weight.shape[1])), method), method)


def pack_bias(bias: Float[Tensor, " gates"], method: Method) -> Float[Tensor, " padded"]:
    """Return the bias of the gates in the order of the packed columns."""
    return _gate_blocks(bias[:, None], method)[..., 0].flatten()


def _gate_blocks(weight: Tensor, method: Method) -> Tensor:
    """Return (blocks, 4, lanes, width)."""
    cells, width = len(weight) // 4, weight.shape[1]
    gates = F.pad(weight.reshape(4, cells, width), (0, 0, 0, padded(cells) - cells))
    return gates.view(4, -1, method.lanes, width).transpose(0, 1)


def _pack(blocks: Float[Tensor, "blocks 4 lanes width"], method: Method) -> Packed:
    if not method.on_tiles:
        return blocks.permute(0, 3, 1, 2).contiguous(), None
    scales = None
    if method is Method.BF16:
        digits, group = [blocks.bfloat16()], 2
    else:
        largest = _INT8_LARGEST if method is Method.INT8 else _FIXED_LARGEST
        scales = (blocks.abs().amax(-1) / largest).clamp_min(1e-30)  # (blocks, 4, lanes)
        whole = torch.round(blocks / scales[..., None]).to(torch.int32)
        digits, group = _digits(whole, 1 if method is Method.INT8 else 3), 4
    width = blocks.shape[-1]
    tiles = torch.stack(digits)  # (digits, blocks, 4, lanes, width)
    tiles = tiles.view(
        len(digits), -1, 4, method.lanes, width // (_ROWS_OF_TILE * group), _ROWS_OF_TILE, group
    )
    # block, vector, place along the width, digit: then the tile itself
    return tiles.permute(1, 2, 4, 0, 5, 3, 6).contiguous(), scales


def _digits(whole: Tensor, count: int) -> list[Tensor]:
    """Return the digits of whole numbers in base 256, from -128 to 127 each, the highest first."""
    digits = []
    for _ in range(count):
        digits.append(((whole + 128) % 256 - 128).to(torch.int8))
        whole = (whole + 128) >> 8
    return digits[::-1]
