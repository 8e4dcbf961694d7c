"""Products with weights laid out once, in the fastest way that this machine has for a precision."""

import functools
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from elmo_torch.kernels.compiled import CompiledProduct
from elmo_torch.kernels.library import compiled_method
from elmo_torch.kernels.precision import Precision

__all__ = ["OneDnnProduct", "PlainProduct", "Product", "make_product"]

_USUAL_ROWS = 128  # oneDNN lays weights out for a number of rows
_INT8_LARGEST = 127
_INT8_SHIFT = 128  # oneDNN takes the activations as unsigned numbers


class Product(Protocol):
    """``x W^T + bias`` in float32 from float32, whatever lies between."""

    def __call__(
        self, x: Float[Tensor, "rows width"], pool: int = 1
    ) -> Float[Tensor, "pooled columns"]:
        """Return the product; with ``pool``, the largest of every ``pool`` rows in succession."""
        ...


def make_product(
    weight: Float[Tensor, "columns width"],
    bias: Float[Tensor, " columns"] | None,
    precision: Precision,
) -> Product:
    """Return the fastest product on the weight's device."""
    if weight.device.type == "cpu":
        method = compiled_method(precision, on_tiles=True)
        if method is not None:
            return CompiledProduct(weight, bias, method)
        if onednn_runs(precision):
            return OneDnnProduct(weight, bias, precision)
    return PlainProduct(weight, bias, precision)


def _pooled(y: Tensor, pool: int) -> Tensor:
    return y if pool == 1 else y.view(-1, pool, y.shape[1]).amax(dim=1)


def _int8_weight(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return whole numbers from -127 to 127, and each column's scale."""
    scales = (weight.abs().amax(dim=1) / _INT8_LARGEST).clamp_min(1e-30)
    return torch.round(weight / scales[:, None]), scales


def _int8_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return whole numbers from -127 to 127, and each row's scale (rows, 1)."""
    scales = (x.abs().amax(dim=1, keepdim=True) / _INT8_LARGEST).clamp_min(1e-30)
    return torch.round(x / scales), scales


class PlainProduct:
    """``F.linear``: on every device and version. With int8 the numbers are rounded, not the speed gained."""

    def __init__(self, weight: Tensor, bias: Tensor | None, precision: Precision) -> None:
        self._precision = precision
        self._bias = bias
        self._scales: Tensor | None = None
        match precision:
            case "fp32":
                self._weight = weight
            case "bf16":
                self._weight = weight.bfloat16()
            case "int8":
                self._weight, self._scales = _int8_weight(weight)

    def __call__(
        self, x: Float[Tensor, "rows width"], pool: int = 1
    ) -> Float[Tensor, "pooled columns"]:
        """Return the product, pooled."""
        if self._precision == "fp32":
            return _pooled(F.linear(x, self._weight, self._bias), pool)
        if self._scales is not None:
            rows, row_scales = _int8_rows(x)
            y = F.linear(rows, self._weight) * (row_scales * self._scales)
        else:
            y = F.linear(x.bfloat16(), self._weight).float()
        return _pooled(y if self._bias is None else y + self._bias, pool)


class OneDnnProduct:
    """oneDNN with packed weights, on CPUs."""

    def __init__(self, weight: Tensor, bias: Tensor | None, precision: Precision) -> None:
        self._precision = precision
        self._bias = bias
        if precision == "int8":
            whole, self._scales = _int8_weight(weight)
            shape = [_USUAL_ROWS, weight.shape[1]]
            self._weight = torch.ops.onednn.qlinear_prepack(whole.to(torch.int8), shape)
            self._zeros = torch.zeros(len(weight), dtype=torch.int32)
        else:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.to(dtype), _USUAL_ROWS)
            self._scales = self._zeros = torch.empty(0)

    def __call__(
        self, x: Float[Tensor, "rows width"], pool: int = 1
    ) -> Float[Tensor, "pooled columns"]:
        """Return the product, pooled."""
        match self._precision:
            case "fp32":
                y = self._linear(x, self._bias)
            case "bf16":
                y = self._linear(x.bfloat16(), None).float()
            case "int8":
                y = self._int8(x)
        if self._bias is not None and self._precision != "fp32":
            y = y + self._bias
        return _pooled(y, pool)

    def _linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, bias, "none", [], "")
        return y

    def _int8(self, x: Tensor) -> Tensor:
        rows, row_scales = _int8_rows(x)
        y: Tensor = torch.ops.onednn.qlinear_pointwise(
            (rows + _INT8_SHIFT).to(torch.uint8), 1.0, _INT8_SHIFT,
            self._weight, self._scales, self._zeros, None,
            1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        return y * row_scales


@functools.cache
def onednn_runs(precision: Precision) -> bool:
    """Return whether this PyTorch has oneDNN's packed product for a precision, by running one."""
    generator = torch.Generator().manual_seed(0)
    weight, x = (torch.randn(rows, 64, generator=generator) for rows in (64, 3))
    try:
        got = OneDnnProduct(weight, None, precision)(x)
    except (AttributeError, RuntimeError, TypeError):  # missing, or of another signature
        return False
    expected = PlainProduct(weight, None, precision)(x)
    return bool((got - expected).abs().max() < 0.1 * expected.abs().max())
