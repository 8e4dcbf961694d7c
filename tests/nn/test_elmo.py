"""ELMo in a task: boundaries, mixes, dropout, and what is trained."""

import pytest
import torch
from torch import Tensor

from elmo_torch.nn.elmo import Elmo, add_boundaries, remove_boundaries
from elmo_torch.nn.scalar_mix import LayerNormKind, ScalarMix
from elmo_torch.text.char_ids import CharIds
from tests.helpers import (
    PROJ,
    bilm_config,
    char_batch,
    lstm_config,
    random_bilm,
    random_state,
    word_bilm_config,
)

SENTENCES = [["The", "cat", "", "sat"], [], ["Stop"]]
FRAMED = [["<S>", *sentence, "</S>"] for sentence in SENTENCES]
BATCH, TOKENS, DIM = 3, 4, 2 * PROJ
BOUNDARIES = torch.from_numpy(CharIds(11).boundaries())


def _ids() -> Tensor:
    return char_batch(SENTENCES)


def _elmo(
    *,
    num_mixes: int = 1,
    dropout: float = 0.0,
    freeze_bilm: bool = True,
    train_mix: bool = True,
    layer_norm: LayerNormKind | None = None,
    keep_boundaries: bool = False,
) -> Elmo:
    return Elmo(
        random_bilm(bilm_config()),
        BOUNDARIES,
        num_mixes=num_mixes,
        dropout=dropout,
        freeze_bilm=freeze_bilm,
        train_mix=train_mix,
        mix_weights=[0.3, -0.2, 0.5],
        layer_norm=layer_norm,
        keep_boundaries=keep_boundaries,
    ).double()


def _mix(elmo: Elmo, index: int = 0) -> ScalarMix:
    mix = elmo.mixes[index]
    assert isinstance(mix, ScalarMix)
    return mix


def test_boundaries_go_before_the_first_and_after_the_last_real_token() -> None:
    assert torch.equal(add_boundaries(_ids(), BOUNDARIES), char_batch(FRAMED))


def test_boundaries_of_word_ids_are_single_ids() -> None:
    framed = add_boundaries(torch.tensor([[5, 6, 7], [4, 0, 0], [0, 0, 0]]), torch.tensor([1, 2]))
    assert framed.tolist() == [[1, 5, 6, 7, 2], [1, 4, 2, 0, 0], [1, 2, 0, 0, 0]]


def test_removing_boundaries_leaves_the_tokens_and_zeros_past_them() -> None:
    mask = torch.arange(TOKENS + 2) < torch.tensor([6, 2, 3])[:, None]
    layers = torch.randn(2, BATCH, TOKENS + 2, DIM, generator=torch.Generator().manual_seed(1))
    inner, inner_mask = remove_boundaries(layers, mask)
    assert inner.shape == (2, BATCH, TOKENS, DIM)
    assert inner_mask.sum(dim=1).tolist() == [4, 0, 1]
    assert torch.equal(inner[:, inner_mask], layers[:, :, 1:-1][:, inner_mask])
    assert not inner[:, ~inner_mask].any()


def test_vectors_are_the_mixed_layers_without_boundaries() -> None:
    elmo = _elmo()
    output = elmo(_ids())
    whole = elmo.bilm(char_batch(FRAMED))
    mixed = torch.einsum("l,lbtd->btd", _mix(elmo).scalars, whole.layers)
    assert output.elmo[0].shape == (BATCH, TOKENS, DIM)
    assert output.mask.sum(dim=1).tolist() == [4, 0, 1]
    for row, sentence in enumerate(SENTENCES):
        inner = slice(1, len(sentence) + 1)
        # float64, the same products and sums
        torch.testing.assert_close(
            output.elmo[0][row, : len(sentence)], mixed[row, inner], rtol=0, atol=1e-14
        )
    assert not output.elmo[0][~output.mask].any()


def test_boundaries_can_be_kept() -> None:
    elmo, keeping = _elmo(), _elmo(keep_boundaries=True)
    output, kept = elmo(_ids()), keeping(_ids())
    assert kept.elmo[0].shape == (BATCH, TOKENS + 2, DIM)
    assert kept.mask.sum(dim=1).tolist() == [6, 2, 3]
    assert torch.equal(kept.elmo[0][:, 1:-1][output.mask], output.elmo[0][output.mask])


@pytest.mark.parametrize(("kind", "sees_boundaries"), [("allennlp", True), ("bilm-tf", False)])
def test_the_ancestors_differ_in_whether_boundaries_enter_the_norm(
    kind: LayerNormKind, sees_boundaries: bool
) -> None:
    elmo = _elmo(layer_norm=kind)
    output = elmo(_ids())
    whole = elmo.bilm(char_batch(FRAMED))
    inner_layers, inner = remove_boundaries(whole.layers, whole.mask)
    layers, mask = (whole.layers, whole.mask) if sees_boundaries else (inner_layers, inner)
    expected = torch.zeros_like(inner_layers[0])
    for scalar, layer in zip(_mix(elmo).scalars, layers, strict=True):
        real = layer[mask]
        normalized = (layer - real.mean()) / real.std(correction=0)
        expected += scalar * (normalized[:, 1:-1] if sees_boundaries else normalized)
    # float64; the ancestors' epsilons in the variance are below 1e-11
    torch.testing.assert_close(output.elmo[0][inner], expected[inner], rtol=0, atol=1e-10)


def test_each_mix_has_its_own_weights() -> None:
    elmo = _elmo(num_mixes=2)
    first, second = elmo(_ids()).elmo
    assert torch.equal(first, second)
    with torch.no_grad():
        _mix(elmo, 1).gamma.fill_(3)
    first, second = elmo(_ids()).elmo
    # float64: 3 * x against x * 3
    torch.testing.assert_close(second, 3 * first, rtol=1e-14, atol=0)


def test_dropout_gives_zero_or_twice_the_value_and_only_while_training() -> None:
    elmo = _elmo(dropout=0.5, num_mixes=2)
    whole = elmo.eval()(_ids())
    plain = whole.elmo[0][whole.mask]
    first, second = (vectors[whole.mask] for vectors in elmo.train()(_ids()).elmo)
    for vectors in first, second:
        dropped = vectors == 0
        assert torch.equal(vectors[~dropped], 2 * plain[~dropped])
        assert 0 < int(dropped.sum()) < dropped.numel()
    assert not torch.equal(first, second)


@pytest.mark.parametrize("train_mix", [False, True])
@pytest.mark.parametrize("freeze_bilm", [False, True])
def test_freezing_the_bilm_and_training_the_mix_are_separate(
    freeze_bilm: bool, train_mix: bool
) -> None:
    elmo = _elmo(freeze_bilm=freeze_bilm, train_mix=train_mix)
    loss = elmo(_ids()).elmo[0].square().sum()
    assert loss.requires_grad == (train_mix or not freeze_bilm)
    if loss.requires_grad:
        loss.backward()
    for parameters, trained in [
        (elmo.bilm.parameters(), not freeze_bilm),
        (elmo.mixes.parameters(), train_mix),
    ]:
        for parameter in parameters:
            assert parameter.requires_grad == trained
            assert (parameter.grad is not None) == trained


def test_state_goes_in_and_comes_out() -> None:
    elmo, before = _elmo(), random_state(lstm_config(), BATCH)
    output = elmo(_ids(), before)
    expected = elmo.bilm(char_batch(FRAMED), before).state
    assert torch.equal(output.state.hidden, expected.hidden)
    assert torch.equal(output.state.memory, expected.memory)


def test_a_word_input_model_takes_word_ids() -> None:
    elmo = Elmo(random_bilm(word_bilm_config()), torch.tensor([1, 2]), dropout=0.0).double()
    output = elmo(torch.tensor([[5, 6, 7], [4, 0, 0]]))
    assert output.elmo[0].shape == (2, 3, DIM)
    assert output.mask.tolist() == [[True] * 3, [True, False, False]]


def test_boundary_ids_are_no_weights() -> None:
    names = set(_elmo().state_dict())
    assert {"mixes.0.weights", "mixes.0.gamma"} < names
    assert "boundary_ids" not in names


def test_no_mix_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="num_mixes must be at least 1; got 0"):
        _elmo(num_mixes=0)
