"""The recurrent layer against PyTorch's own, and what PyTorch's cannot do: clips, masks, resets."""

import pytest
import torch
from torch import Tensor, nn

from elmo_torch.nn.lstmp import FORGET_BIAS, LstmpClips, LstmpLayer, lstmp_step
from tests.helpers import fill

BATCH, TOKENS, INPUT, PROJ, CELL = 3, 7, 5, 4, 6
NO_CLIPS = LstmpClips(cell_clip=None, proj_clip=None)


def _layer(*, projection_dim: int = PROJ, clips: LstmpClips = NO_CLIPS) -> LstmpLayer:
    layer = LstmpLayer(input_dim=INPUT, cell_dim=CELL, projection_dim=projection_dim, clips=clips)
    fill(layer, seed=1)
    return layer.double().requires_grad_(False)


def _batch(*, proj: int = PROJ, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Return inputs, hidden state and memory."""
    generator = torch.Generator().manual_seed(2)
    shapes = (BATCH, TOKENS, INPUT), (BATCH, proj), (BATCH, CELL)
    inputs, hidden, memory = (
        scale * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    return inputs, hidden, memory


def _torch_lstm(layer: LstmpLayer) -> nn.LSTM:
    """Return PyTorch's layer with the same weights; its second bias holds the forget bias."""
    proj_size = 0 if layer.w_proj is None else PROJ
    lstm = nn.LSTM(INPUT, CELL, proj_size=proj_size, batch_first=True).double()
    forget = torch.zeros(4 * CELL)
    forget[CELL : 2 * CELL] = FORGET_BIAS
    weights = {
        "weight_ih_l0": layer.w_input,
        "weight_hh_l0": layer.w_hidden,
        "bias_ih_l0": layer.bias,
        "bias_hh_l0": forget,
    }
    if layer.w_proj is not None:
        weights["weight_hr_l0"] = layer.w_proj
    lstm.load_state_dict(weights)
    return lstm.requires_grad_(False)


def _assert_same(ours: tuple[Tensor, ...], theirs: tuple[Tensor, ...]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        # float64 on both sides: only the order of sums differs
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("proj", [PROJ, CELL])
def test_without_clips_it_equals_pytorchs_lstm(proj: int) -> None:
    layer = _layer(projection_dim=proj)
    assert (layer.w_proj is None) == (proj == CELL)
    inputs, hidden, memory = _batch(proj=proj)
    outputs, (last_hidden, last_memory) = _torch_lstm(layer)(inputs, (hidden[None], memory[None]))
    _assert_same(layer(inputs, hidden, memory), (outputs, last_hidden[0], last_memory[0]))


def test_both_clips_are_reached_and_never_passed() -> None:
    cell_clip, proj_clip = 0.75, 0.5
    layer = _layer(clips=LstmpClips(cell_clip=cell_clip, proj_clip=proj_clip))
    inputs, hidden, memory = _batch(scale=5)
    outputs, _, last_memory = layer(inputs, hidden, memory)
    assert float(outputs.abs().max()) == proj_clip
    assert float(last_memory.abs().max()) == cell_clip
    assert not (outputs.abs() == proj_clip).all()


def test_the_memory_is_clipped_before_the_output_gate_reads_it() -> None:
    clips = LstmpClips(cell_clip=0.5, proj_clip=None)
    open_gates = torch.full((1, 4), 50.0)  # every gate is 1, the candidate too
    hidden, memory = lstmp_step(torch.full((1, 1), 9.0), open_gates, torch.eye(1), clips)
    assert memory.item() == 0.5
    assert hidden.item() == pytest.approx(torch.tensor(0.5).tanh().item())


def test_the_projection_clip_leaves_a_layer_without_projection_alone() -> None:
    inputs, hidden, memory = _batch(proj=CELL)
    clipped = _layer(projection_dim=CELL, clips=LstmpClips(cell_clip=None, proj_clip=1e-3))
    free = _layer(projection_dim=CELL)
    _assert_same(clipped(inputs, hidden, memory), free(inputs, hidden, memory))


@pytest.mark.parametrize("value", [0.0, -3.0, float("nan")])
@pytest.mark.parametrize("name", ["cell_clip", "proj_clip"])
def test_a_clip_that_is_not_positive_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, or None for no clip"):
        LstmpClips(**{name: value})


@pytest.mark.parametrize("reverse", [False, True])
def test_a_padded_sentence_is_read_as_if_it_were_alone(reverse: bool) -> None:
    layer = _layer()
    inputs, hidden, memory = _batch()
    lengths = torch.tensor([TOKENS, 3, 1])
    mask = torch.arange(TOKENS) < lengths[:, None]
    outputs, last_hidden, last_memory = layer(inputs, hidden, memory, reverse=reverse, mask=mask)
    for row, length in enumerate(lengths.tolist()):
        own = slice(row, row + 1)
        alone = inputs[own, :length]
        # a reversed run is a run over the reversed sentence, from its own end
        alone = alone.flip(1) if reverse else alone
        expected, one_hidden, one_memory = layer(alone, hidden[own], memory[own])
        expected = expected.flip(1) if reverse else expected
        _assert_same(
            (outputs[own, :length], last_hidden[own], last_memory[own]),
            (expected, one_hidden, one_memory),
        )
        assert not outputs[row, length:].any()


def test_a_token_that_does_not_keep_the_state_starts_from_zero() -> None:
    layer = _layer()
    inputs, hidden, memory = _batch()
    start = 4
    keep = torch.ones(BATCH, TOKENS, dtype=torch.bool)
    keep[1, start] = False
    outputs, last_hidden, last_memory = layer(inputs, hidden, memory, keep=keep)
    whole = layer(inputs, hidden, memory)
    fresh = layer(inputs[:, start:], torch.zeros_like(hidden), torch.zeros_like(memory))
    _assert_same((outputs[[0, 2]], last_hidden[[0, 2]]), (whole[0][[0, 2]], whole[1][[0, 2]]))
    _assert_same((outputs[1, :start],), (whole[0][1, :start],))
    _assert_same(
        (outputs[1, start:], last_hidden[1], last_memory[1]),
        (fresh[0][1], fresh[1][1], fresh[2][1]),
    )
    assert (outputs[1, start:] - whole[0][1, start:]).abs().max() > 1e-3


def test_the_stored_bias_is_not_changed_by_the_forget_bias() -> None:
    layer = _layer()
    added = layer.run_bias() - layer.bias
    assert added.reshape(4, CELL)[1].eq(FORGET_BIAS).all()
    # (bias + 0) - bias is 0 exactly
    assert not added.reshape(4, CELL)[[0, 2, 3]].any()
    assert set(layer.state_dict()) == {"w_input", "w_hidden", "bias", "w_proj"}
