import copy
import inspect

import pytest
import torch
from torch import Tensor, nn

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp import Elmo, batch_to_ids
from elmo_torch.nn.scalar_mix import ScalarMix
from tests.golden.parity import TOLERANCE
from tests.helpers import PROJ, bilm_config, char_cnn_config, largest_difference
from tests.integrations.allennlp.pairs import (
    GOLDEN_MIXES,
    SENTENCES,
    Pair,
    golden_mix,
    write_pair,
)

DIM = 2 * PROJ
CASES = [(norm, keep) for norm in (False, True) for keep in (False, True)]


def mixes(elmo: Elmo) -> list[ScalarMix]:
    return [module for module in elmo.children() if isinstance(module, ScalarMix)]


def vectors(elmo: Elmo, ids: Tensor, word_ids: Tensor | None = None) -> Tensor:
    (only,) = elmo(ids, word_ids)["elmo_representations"]
    assert isinstance(only, Tensor)
    return only


def test_arguments_and_defaults_are_allennlps() -> None:
    # as inspect.signature shows them of allennlp.modules.elmo.Elmo, version 2.10.1
    empty = inspect.Parameter.empty
    expected = {
        "options_file": empty,
        "weight_file": empty,
        "num_output_representations": empty,
        "requires_grad": False,
        "do_layer_norm": False,
        "dropout": 0.5,
        "vocab_to_cache": None,
        "keep_sentence_boundaries": False,
        "scalar_mix_parameters": None,
        "module": None,
    }
    parameters = list(inspect.signature(Elmo).parameters.values())
    by_place = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [(p.name, p.default) for p in by_place] == list(expected.items())
    assert [(p.name, p.default) for p in parameters if p not in by_place] == [
        ("carry_state", False)
    ]
    assert list(inspect.signature(Elmo.forward).parameters) == ["self", "inputs", "word_inputs"]


def test_a_program_for_allennlp_runs_with_the_import_changed(pair: Pair) -> None:
    options_file, weight_file = pair
    elmo = Elmo(options_file, weight_file, num_output_representations=1, dropout=0.5)
    character_ids = batch_to_ids(
        [["The", "bank", "is", "steep"], ["The", "bank", "approved", "the", "loan"]]
    )
    assert character_ids.shape == (2, 5, 50)
    assert elmo(character_ids)["elmo_representations"][0].shape == (2, 5, DIM)
    assert elmo.get_output_dim() == DIM


@pytest.mark.parametrize(("do_layer_norm", "keep_sentence_boundaries"), CASES)
@pytest.mark.parametrize("name", GOLDEN_MIXES)
def test_values_are_those_of_allennlps_first_call_on_every_call(
    name: str, do_layer_norm: bool, keep_sentence_boundaries: bool
) -> None:
    golden = golden_mix(name)
    elmo = Elmo(
        *golden.pair,
        1,
        do_layer_norm=do_layer_norm,
        keep_sentence_boundaries=keep_sentence_boundaries,
        scalar_mix_parameters=golden.scalar_mix_parameters,
    ).eval()
    with torch.no_grad():
        mixes(elmo)[0].gamma.fill_(golden.gamma)
    expected = golden.expected[do_layer_norm, keep_sentence_boundaries]
    first = elmo(batch_to_ids(golden.sentences))
    # measured: at most 4.2e-7
    assert largest_difference(first["elmo_representations"][0], expected) <= TOLERANCE
    again = elmo(batch_to_ids(golden.sentences))
    assert torch.equal(again["elmo_representations"][0], first["elmo_representations"][0])


@pytest.mark.parametrize(("keep", "added"), [(False, 0), (True, 2)])
def test_the_mask_is_true_at_the_tokens_of_a_sentence(pair: Pair, keep: bool, added: int) -> None:
    output = Elmo(*pair, 1, keep_sentence_boundaries=keep)(batch_to_ids(SENTENCES))
    assert output["mask"].dtype == torch.bool
    assert output["mask"].shape == (3, 5 + added)
    assert output["mask"].sum(dim=1).tolist() == [len(words) + added for words in SENTENCES]
    assert output["elmo_representations"][0].shape == (3, 5 + added, DIM)


def test_in_training_each_number_is_dropped_or_doubled(pair: Pair) -> None:
    elmo = Elmo(*pair, 1, dropout=0.5)
    ids = batch_to_ids(SENTENCES)
    torch.manual_seed(0)
    trained, evaluated = vectors(elmo.train(), ids), vectors(elmo.eval(), ids)
    kept = trained != 0
    # dropout multiplies by 1 / (1 - 0.5), and doubling is exact
    assert torch.equal(trained[kept], 2 * evaluated[kept])
    share = kept[evaluated != 0].float().mean()
    # 80 numbers, so a deviation of 0.056 from one half is usual; five of them are not
    assert abs(float(share) - 0.5) < 0.28


def test_each_mix_learns_by_itself(pair: Pair) -> None:
    elmo = Elmo(*pair, 3, dropout=0.0)
    with torch.no_grad():
        for layer, mix in enumerate(mixes(elmo)):
            mix.weights[layer] = 1e4  # softmax gives this layer all, to the bit
    output = elmo(batch_to_ids(SENTENCES))
    assert len(output["elmo_representations"]) == 3
    whole = elmo.bilm(batch_to_ids(SENTENCES))
    mask = output["mask"][..., None]
    for mixed, layer in zip(output["elmo_representations"], whole["activations"], strict=True):
        assert torch.equal(mixed, layer[:, 1:-1] * mask)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_bilm_learns_only_if_asked_and_the_mix_either_way(
    pair: Pair, requires_grad: bool
) -> None:
    elmo = Elmo(*pair, 1, requires_grad=requires_grad, dropout=0.0)
    torch.autograd.backward(vectors(elmo, batch_to_ids(SENTENCES)).square().sum())
    (mix,) = mixes(elmo)
    assert mix.gamma.grad is not None
    assert mix.weights.grad is not None
    assert mix.weights.grad.any()
    learning = [parameter.grad is not None for parameter in elmo.bilm.parameters()]
    assert all(learning) if requires_grad else not any(learning)


def test_given_mix_parameters_are_not_trained(pair: Pair) -> None:
    elmo = Elmo(*pair, 2, scalar_mix_parameters=[0.3, -0.2, 0.5])
    for mix in mixes(elmo):
        # 0.3 and the like are rounded to float32
        assert mix.weights.tolist() == pytest.approx([0.3, -0.2, 0.5], rel=1e-6)
    assert not any(parameter.requires_grad for parameter in elmo.parameters())


def test_mixes_have_allennlps_module_names(pair: Pair) -> None:
    names = [name for name, _ in Elmo(*pair, 2).named_children()]
    assert {"scalar_mix_0", "scalar_mix_1"} <= set(names)


def test_axes_between_batch_and_tokens_come_back(pair: Pair) -> None:
    for keep, num_tokens in ((False, 5), (True, 7)):
        elmo = Elmo(*pair, 1, keep_sentence_boundaries=keep).eval()
        ids = batch_to_ids(SENTENCES * 2)
        flat, folded = elmo(ids), elmo(ids.view(2, 3, 5, 50))
        assert folded["mask"].shape == (2, 3, num_tokens)
        assert torch.equal(folded["mask"].flatten(0, 1), flat["mask"])
        representation = folded["elmo_representations"][0]
        assert representation.shape == (2, 3, num_tokens, DIM)
        assert torch.equal(representation.flatten(0, 1), flat["elmo_representations"][0])


@pytest.mark.parametrize("carry_state", [False, True])
def test_batches_without_sentences_or_tokens_give_as_many_vectors(
    pair: Pair, carry_state: bool
) -> None:
    elmo = Elmo(*pair, 1, carry_state=carry_state).eval()
    assert vectors(elmo, batch_to_ids([])).shape == (0, 0, DIM)
    assert vectors(elmo, batch_to_ids([[]])).shape == (1, 0, DIM)
    assert vectors(elmo, batch_to_ids([])).shape == (0, 0, DIM)
    assert elmo(batch_to_ids([[], ["a"]]))["mask"].tolist() == [[False], [True]]


def test_a_copy_of_the_module_learns_apart_from_it(pair: Pair) -> None:
    elmo = Elmo(*pair, 1).eval()
    twin, ids = copy.deepcopy(elmo), batch_to_ids(SENTENCES)
    before = vectors(elmo, ids)
    with torch.no_grad():
        mixes(twin)[0].gamma.fill_(2)
    assert torch.equal(vectors(twin, ids), 2 * before)
    assert torch.equal(vectors(elmo, ids), before)


def test_inputs_of_another_shape_are_refused(pair: Pair) -> None:
    elmo = Elmo(*pair, 1)
    for shape in ((5, 50), (3, 5, 49)):
        with pytest.raises(InputError, match=r"inputs must be char ids \(batch, tokens, 50\)"):
            elmo(torch.ones(shape, dtype=torch.int64))


def test_a_model_that_reads_another_number_of_characters_says_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("short") / "pair"
    elmo = Elmo(*write_pair(folder, bilm_config(char_cnn_config(max_chars=11))), 1)
    with pytest.raises(InputError, match=r"\(batch, tokens, 11\)"):
        elmo(batch_to_ids(SENTENCES))
    assert vectors(elmo, torch.ones(3, 5, 11, dtype=torch.int64)).shape == (3, 5, DIM)


class _Constant(nn.Module):
    """A stand-in for the biLM: layer j of every token is full of j."""

    num_layers = 4

    def get_output_dim(self) -> int:
        return 7

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, object]:
        batch, num_tokens = inputs.shape[:2]
        shape = (batch, num_tokens + 2)
        layers = [torch.full((*shape, 7), float(j)) for j in range(4)]
        return {"activations": layers, "mask": torch.ones(shape, dtype=torch.bool)}


def test_a_module_takes_the_place_of_the_files() -> None:
    elmo = Elmo(None, None, 1, module=_Constant(), dropout=0.0)
    assert elmo.get_output_dim() == 7
    # the mean of 0, 1, 2 and 3, each times 0.25, is exact in binary
    assert torch.equal(vectors(elmo, batch_to_ids(SENTENCES)), torch.full((3, 5, 7), 1.5))


def test_a_module_beside_files_or_a_carried_state_is_refused(pair: Pair) -> None:
    with pytest.raises(InputError, match="module takes the place of options_file"):
        Elmo(*pair, 1, module=_Constant())
    with pytest.raises(InputError, match="carry_state is not possible with module"):
        Elmo(None, None, 1, module=_Constant(), carry_state=True)
