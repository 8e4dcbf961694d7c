"""The compiled recurrent layer against its twin in PyTorch, tile by tile and part by part."""

import itertools

import pytest
import torch

from elmo_torch.kernels.compiled import CompiledLayer
from elmo_torch.kernels.crew import Crew, run_with_crew
from elmo_torch.kernels.layouts import pad_to
from elmo_torch.kernels.library import Method
from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.lstmp import LstmpClips, LstmpLayer
from elmo_torch.runtime.torch_layer import TorchLayer
from tests.kernels.ways import by, num_threads

PRECISIONS: dict[Method, Precision] = {Method.BF16: "bf16", Method.INT8: "int8"}

# float32: sums in another order, on values of order 1. bf16 and int8: both sides narrow the same
# numbers, but the sums before narrowing part by 1e-7, which a step of 2^-8 or 2^-7 may turn over.
BOUNDS: dict[Precision, float] = {"fp32": 1e-5, "bf16": 2**-6, "int8": 2**-5}

CPU = torch.device("cpu")


def layer_of(projection_dim: int, cell_dim: int, clips: LstmpClips) -> LstmpLayer:
    generator = torch.Generator().manual_seed(projection_dim)
    layer = LstmpLayer(
        input_dim=projection_dim, cell_dim=cell_dim, projection_dim=projection_dim, clips=clips
    ).requires_grad_(False)
    for parameter in layer.parameters():
        drawn = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(drawn / (parameter.shape[-1] ** 0.5 if parameter.dim() > 1 else 1))
    return layer


def compiled(layer: LstmpLayer, method: Method, *, residual: bool) -> CompiledLayer:
    return CompiledLayer(
        w_input=layer.w_input.detach(),
        w_hidden=layer.w_hidden.detach(),
        bias=layer.run_bias().detach(),
        w_proj=None if layer.w_proj is None else layer.w_proj.detach(),
        cell_clip=layer.clips.cell_clip,
        proj_clip=layer.clips.proj_clip,
        residual=residual,
        method=method,
    )


SIZES = [
    pytest.param(40, 70, LstmpClips(cell_clip=0.3, proj_clip=0.2), id="clips that act"),
    pytest.param(64, 128, LstmpClips(cell_clip=None, proj_clip=None), id="no clips"),
    pytest.param(33, 33, LstmpClips(), id="no projection"),
    pytest.param(130, 260, LstmpClips(), id="some blocks"),
]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("projection_dim", "cell_dim", "clips"), SIZES)
@pytest.mark.parametrize("method", Method)
def test_it_gives_the_numbers_of_its_twin(
    method: Method,
    projection_dim: int,
    cell_dim: int,
    clips: LstmpClips,
    reverse: bool,
    threads: int,
) -> None:
    layer = layer_of(projection_dim, cell_dim, clips)
    if method.on_tiles and layer.w_proj is None:
        with by(method.name), pytest.raises(AssertionError):
            compiled(layer, method, residual=True)  # the caller takes another method
        return
    precision = PRECISIONS.get(method, "fp32")
    with by(method.name):
        ours = compiled(layer, method, residual=True)
    with by("plain PyTorch"):
        twin = TorchLayer(layer, residual=True, precision=precision)
    generator = torch.Generator().manual_seed(threads)
    batch = 37
    hidden = torch.randn(batch, projection_dim, generator=generator) / 4
    memory = torch.randn(batch, cell_dim, generator=generator) / 4
    # a tile of one step, of many, of rows that grow fewer, of a single row; the other way round
    # in reverse, where sentences join as they begin
    tiles = [(37,), (20, 20, 19), (18, 17, 16, 5, 1), (1,) * 5]
    tiles = [tile[::-1] for tile in reversed(tiles)] if reverse else tiles
    tiles = [tuple(reversed(tile)) for tile in tiles] if reverse else tiles

    def run(crew: Crew) -> tuple[list[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        working = ours.start(hidden, memory, reverse=reverse, crew=crew)
        outputs = [
            working.read(pad_to(x, ours.width), sizes)[:, :projection_dim]
            for x, sizes in zip(inputs, tiles, strict=True)
        ]
        return outputs, working.state()

    inputs = [torch.randn(sum(tile), projection_dim, generator=generator) for tile in tiles]
    with num_threads(threads):
        outputs, state = run_with_crew(run, CPU)
    other = twin.start(hidden, memory, reverse=reverse, crew=Crew(1))
    expected = [other.read(x, sizes) for x, sizes in zip(inputs, tiles, strict=True)]
    for got, wanted in zip([*outputs, *state], [*expected, *other.state()], strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=BOUNDS[precision])


@pytest.mark.parametrize("method", Method)
def test_memory_far_outside_the_range_of_a_gate_stays_finite(method: Method) -> None:
    """Gates of +-1e4 saturate; the exponentials behind them must not overflow."""
    layer = layer_of(64, 128, LstmpClips())
    layer.bias.copy_(torch.tensor([1e4, -1e4]).repeat(len(layer.bias) // 2))
    with by(method.name):
        ours = compiled(layer, method, residual=False)

    def run(crew: Crew) -> torch.Tensor:
        working = ours.start(torch.zeros(2, 64), torch.zeros(2, 128), reverse=False, crew=crew)
        return working.read(torch.full((6, 64), 50.0), (2, 2, 2))

    outputs = run_with_crew(run, CPU)
    inputs = torch.full((2, 3, 64), 50.0)
    expected, _, _ = layer(inputs, torch.zeros(2, 64), torch.zeros(2, 128))
    wanted = expected.transpose(0, 1).flatten(0, 1)
    torch.testing.assert_close(outputs, wanted, rtol=0, atol=BOUNDS[PRECISIONS.get(method, "fp32")])


def test_the_same_input_gives_the_same_bits_with_any_number_of_threads() -> None:
    layer = layer_of(40, 70, LstmpClips())
    found = []
    for method, threads in itertools.product((Method.FIXED, Method.GENERIC), (1, 2, 3)):
        with by(method.name):
            ours = compiled(layer, method, residual=False)
        x = pad_to(torch.randn(30, 40, generator=torch.Generator().manual_seed(3)), ours.width)

        def run(crew: Crew, ours: CompiledLayer = ours, x: torch.Tensor = x) -> torch.Tensor:
            start = torch.zeros(10, 40), torch.zeros(10, 70)
            return ours.start(*start, reverse=False, crew=crew).read(x, (10, 10, 10))

        with num_threads(threads):
            found.append(run_with_crew(run, CPU))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    assert torch.equal(found[3], found[4])
    assert torch.equal(found[3], found[5])
