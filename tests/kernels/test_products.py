"""Products with packed weights against float64, by every way and precision."""

import pytest
import torch

from elmo_torch.kernels import products
from elmo_torch.kernels.compiled import CompiledProduct
from elmo_torch.kernels.precision import Precision
from elmo_torch.kernels.products import OneDnnProduct, PlainProduct, make_product, onednn_runs
from tests.kernels.ways import by, ways_of

PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
WAYS = [(precision, way) for precision in PRECISIONS for way in ways_of(precision)]

# As a share of the lengths of row and column. float32: rounding of sums of 200 numbers; bf16 and
# int8: rounding of each operand to 8 and 7 bits, of the result too. A wrong row or column gives a tenth and more.
BOUNDS: dict[Precision, float] = {"fp32": 1e-6, "bf16": 2**-7, "int8": 2**-6}


def operands(
    columns: int, width: int, rows: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(columns + width + rows)
    weight = torch.randn(columns, width, generator=generator)
    weight *= torch.logspace(-2, 1, columns)[:, None]  # columns of different sizes
    bias = torch.randn(columns, generator=generator)
    x = torch.randn(rows, width, generator=generator)
    return weight, bias, x * torch.logspace(-1, 1, rows)[:, None]


@pytest.mark.parametrize(("precision", "way"), WAYS)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (7, 5, 3), (64, 64, 16), (200, 65, 33), (96, 200, 260)]
)
def test_products_are_those_of_float64(
    precision: Precision, way: str, shape: tuple[int, int, int]
) -> None:
    weight, bias, x = operands(*shape)
    expected = x.double() @ weight.double().T
    with by(way):
        bare, biased = (make_product(weight, b, precision) for b in (None, bias))
    size = x.norm(dim=1)[:, None] * weight.norm(dim=1)
    for got, wanted, largest in (
        (bare(x), expected, size),
        (biased(x), expected + bias, size + bias.abs()),
    ):
        assert got.shape == wanted.shape
        assert ((got - wanted).abs() / largest).max() <= BOUNDS[precision]


@pytest.mark.parametrize(("precision", "way"), WAYS)
@pytest.mark.parametrize("pool", [1, 2, 5, 130])
def test_the_largest_of_rows_in_succession(precision: Precision, way: str, pool: int) -> None:
    weight, bias, x = operands(40, 24, 2 * 130)
    with by(way):
        product = make_product(weight, bias, precision)
    whole = product(x)
    expected = torch.stack([rows.amax(dim=0) for rows in torch.split(whole, pool)])
    torch.testing.assert_close(product(x, pool), expected, rtol=1e-5, atol=1e-5)


def test_rows_of_zeros_give_the_bias() -> None:
    weight, bias, _ = operands(8, 6, 1)
    for precision, way in WAYS:
        if way in ("oneDNN", "plain PyTorch"):
            with by(way):
                got = make_product(weight, bias, precision)(torch.zeros(3, 6))
            assert torch.equal(got, bias.expand(3, -1))


@pytest.mark.parametrize("way", ["FIXED", "BF16", "INT8"])
def test_rows_and_columns_of_zeros_on_tiles(way: str) -> None:
    weight, bias, _ = operands(8, 6, 1)
    weight[3] = 0
    with by(way):
        precision: Precision = {"FIXED": "fp32", "BF16": "bf16", "INT8": "int8"}[way]  # type: ignore[assignment]  # the names of all three
        product = make_product(weight, bias, precision)
    assert torch.equal(product(torch.zeros(3, 6)), bias.expand(3, -1))
    assert torch.equal(product(torch.ones(1, 6))[:, 3], bias[3:4])


@pytest.mark.parametrize(("precision", "way"), WAYS)
def test_a_machine_uses_the_best_that_it_has(precision: Precision, way: str) -> None:
    if way in ("AVX512", "AVX2", "GENERIC"):
        expected: type = OneDnnProduct  # the kernel's plain products are those on tiles
    else:
        expected = {"oneDNN": OneDnnProduct, "plain PyTorch": PlainProduct}.get(
            way, CompiledProduct
        )
    if expected is OneDnnProduct and not onednn_runs(precision):
        pytest.skip("this PyTorch has no packed products of oneDNN")
    weight, bias, _ = operands(5, 4, 1)
    with by(way):
        assert isinstance(make_product(weight, bias, precision), expected)


def test_other_devices_have_the_plain_product() -> None:
    weight = torch.empty(5, 4, device="meta")
    assert isinstance(make_product(weight, None, "fp32"), PlainProduct)


@pytest.mark.parametrize("error", [AttributeError, RuntimeError, TypeError])
def test_a_pytorch_without_packed_products_is_noticed(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise error("no such operator")

    monkeypatch.setattr(products, "OneDnnProduct", refuse)
    onednn_runs.cache_clear()
    try:
        assert not onednn_runs("fp32")
    finally:
        onednn_runs.cache_clear()


def test_packed_products_that_give_other_numbers_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(products, "OneDnnProduct", lambda *_: lambda x: torch.zeros(3, 64))
    onednn_runs.cache_clear()
    try:
        assert not onednn_runs("int8")
    finally:
        onednn_runs.cache_clear()
