"""For any sizes, sentences, state and number of threads, every way to run gives the numbers of ``nn``."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLmState, BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers
from elmo_torch.text.char_ids import CharIds
from tests.kernels.ways import EXACT_WAYS, by, num_threads, ways_of

# What a user is promised: the runtime's float32 equals nn's to this, in float32 sums of another
# order on values of order 1. A wrong row, gate, clip or state moves them by 1e-2 and more.
TOLERANCE = 2e-5

MAX_CHARS = 9


@dataclass(frozen=True, kw_only=True)
class Case:
    projection_dim: int
    cell_dim: int
    filters: tuple[tuple[int, int], ...]
    lengths: tuple[int, ...]  # of the sentences, boundary tokens not counted
    char_dim: int = 16
    num_highway: int = 1
    activation: str = "relu"
    num_layers: int = 2
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    residual: bool = True
    seed: int = 0
    threads: int = 1
    from_state: bool = True

    @property
    def config(self) -> BiLmConfig:
        return BiLmConfig(
            token_encoder=CharCnnConfig(
                char_dim=self.char_dim,
                filters=self.filters,
                projection_dim=self.projection_dim,
                max_chars=MAX_CHARS,
                num_highway=self.num_highway,
                activation=self.activation,
            ),
            lstm=BiLstmpConfig(
                cell_dim=self.cell_dim,
                projection_dim=self.projection_dim,
                num_layers=self.num_layers,
                cell_clip=self.cell_clip,
                proj_clip=self.proj_clip,
                residual=self.residual,
            ),
        )


CLIPS = st.one_of(st.none(), st.floats(0.05, 3))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    projection_dim = draw(st.integers(1, 70))
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    return Case(
        projection_dim=projection_dim,
        cell_dim=projection_dim + draw(st.sampled_from([0, 0, 1, 30, 90])),
        filters=tuple((width, draw(st.integers(1, 30))) for width in widths),
        lengths=tuple(draw(st.lists(st.integers(0, 12), min_size=1, max_size=40))),
        char_dim=draw(st.integers(1, 6)),
        num_highway=draw(st.integers(0, 2)),
        activation=draw(st.sampled_from(["relu", "tanh"])),
        num_layers=draw(st.integers(1, 3)),
        cell_clip=draw(CLIPS),
        proj_clip=draw(CLIPS),
        residual=draw(st.booleans()),
        seed=draw(st.integers(0, 99)),
        threads=draw(st.integers(1, 3)),
        from_state=draw(st.booleans()),
    )


def usual(lengths: tuple[int, ...], threads: int) -> Case:
    """Return a case with the shape of published models, at a sixteenth of their width."""
    return Case(
        projection_dim=32,
        cell_dim=256,
        filters=((1, 32), (2, 32), (3, 64)),
        lengths=lengths,
        threads=threads,
    )


def model_of(case: Case) -> BiLm:
    """Return a model whose layers neither fade nor grow: weights of 1 / sqrt(width), biases of order 1."""
    generator = torch.Generator().manual_seed(case.seed)
    bilm = BiLm(case.config).requires_grad_(False)
    for parameter in bilm.parameters():
        drawn = torch.randn(parameter.shape, generator=generator)
        fan_in = parameter[0].numel() if parameter.dim() > 1 else 1
        parameter.copy_(drawn / fan_in**0.5)
    return bilm


def words_of(case: Case) -> list[list[str]]:
    letters = "abcdefgh"
    generator = torch.Generator().manual_seed(case.seed + 1)

    def word() -> str:
        length = int(torch.randint(0, MAX_CHARS + 3, (), generator=generator))
        return "".join(letters[int(k)] for k in torch.randint(0, 3, (length,), generator=generator))

    return [[word() for _ in range(length)] for length in case.lengths]


def state_of(case: Case) -> BiLmState:
    generator = torch.Generator().manual_seed(case.seed + 2)
    batch = len(case.lengths)

    def draw(width: int) -> torch.Tensor:
        numbers = torch.randn(case.num_layers, batch, 2 * width, generator=generator)
        return numbers if case.from_state else torch.zeros_like(numbers)

    return BiLmState(hidden=draw(case.projection_dim), memory=draw(case.cell_dim))


def rows_of(state: BiLmState, row: int) -> BiLmState:
    return BiLmState(hidden=state.hidden[:, row : row + 1], memory=state.memory[:, row : row + 1])


def errors(case: Case, precision: str) -> torch.Tensor:
    """Return the largest difference of each layer, then of both parts of the state."""
    bilm, sentences, before = model_of(case), words_of(case), state_of(case)
    frozen = FrozenBiLm(bilm, CharIds(MAX_CHARS), precision=precision)  # type: ignore[arg-type]
    with num_threads(case.threads):
        selection = select_layers("all", case.config.num_layers)
        batch = frozen.run(sentences, selection, before, keep_boundaries=True)
    after = batch.state
    assert after is not None
    found = []
    for row, (sentence, vectors) in enumerate(zip(sentences, batch.vectors, strict=True)):
        ids = torch.from_numpy(CharIds(MAX_CHARS).encode(["<S>", *sentence, "</S>"]))
        expected = bilm(ids[None], rows_of(before, row))
        got = rows_of(after, row)
        differences = (vectors - expected.layers[:, 0]).abs().amax(dim=(1, 2))
        memory = (got.memory - expected.state.memory).abs().max()
        hidden = (got.hidden - expected.state.hidden).abs().max()
        found.append(torch.cat([differences, memory[None], hidden[None]]))
    return torch.stack(found).amax(dim=0)


@pytest.mark.parametrize("way", EXACT_WAYS)
@given(case=cases())
@example(case=usual((5, 3, 0, 1), threads=2))
@example(case=usual((2,) * 130, threads=2))  # more sentences than a tile has rows
@example(case=usual(tuple(range(33)), threads=3))
@example(case=usual((200,), threads=2))  # one sentence of many tiles
@settings(max_examples=15, deadline=None)
def test_float32_equals_nn(way: str, case: Case) -> None:
    with by(way):
        assert errors(case, "fp32").max() <= TOLERANCE


@pytest.mark.parametrize(
    ("precision", "way", "bound"),
    # bfloat16 keeps 8 bits of a number, int8 with its scales 7: every product adds that share of
    # values of order 1, and the memory sums it up over the steps (measured 0.03 and 0.11).
    [("bf16", way, 0.05) for way in ways_of("bf16")]
    + [("int8", way, 0.2) for way in ways_of("int8")],
)
@pytest.mark.parametrize("lengths", [(1,), (7, 2, 0, 5), (3,) * 40])
def test_low_precision_is_near_nn(
    precision: str, way: str, bound: float, lengths: tuple[int, ...]
) -> None:
    with by(way):
        found = errors(usual(lengths, threads=2), precision)
    assert found.max() <= bound
    assert found.max() > TOLERANCE, "this precision was not used"
