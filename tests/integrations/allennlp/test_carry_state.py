"""``Elmo(..., carry_state=True)`` against the later calls of AllenNLP."""

import pytest
import torch

from elmo_torch.integrations.allennlp import Elmo, batch_to_ids
from elmo_torch.nn.scalar_mix import ScalarMix
from tests.golden.parity import TOLERANCE
from tests.golden.peers import GOLDEN_RUNS, PeerRun, peer_run
from tests.helpers import largest_difference
from tests.integrations.allennlp.pairs import SENTENCES, Pair

STATEFUL_RUNS = [
    name for name in GOLDEN_RUNS if name.startswith("allennlp_") and "/stateful_" in name
]


def layerwise(run: PeerRun, *, carry_state: bool) -> Elmo:
    """Return an Elmo with one mix a layer, each all of its layer."""
    elmo = Elmo(
        run.model.options,
        run.model.weights,
        3,
        keep_sentence_boundaries=True,
        carry_state=carry_state,
    ).eval()
    mixes = [module for module in elmo.children() if isinstance(module, ScalarMix)]
    with torch.no_grad():
        for layer, mix in enumerate(mixes):
            mix.weights[layer] = 1e4  # softmax gives this layer all, to the bit
    return elmo


def distances(elmo: Elmo, run: PeerRun) -> list[float]:
    """Return the largest difference of each batch."""
    elmo.requires_grad_(False)
    found = []
    for batch in run.batches:
        layers = torch.stack(elmo(batch_to_ids(batch.sentences))["elmo_representations"])
        found.append(
            max(
                largest_difference(layers[:, row, : expected.shape[1]], expected)
                for row, expected in enumerate(batch.rows)
            )
        )
    return found


@pytest.mark.parametrize("name", STATEFUL_RUNS)
def test_later_calls_are_allennlps_while_batches_grow_and_shrink(name: str) -> None:
    run = peer_run(name)
    assert max(distances(layerwise(run, carry_state=True), run)) <= TOLERANCE


@pytest.mark.parametrize("name", STATEFUL_RUNS)
def test_without_carrying_only_the_first_call_is_allennlps(name: str) -> None:
    run = peer_run(name)
    first, *later = distances(layerwise(run, carry_state=False), run)
    assert first <= TOLERANCE
    # measured: every later call of every run is at least 0.60 away
    assert min(later) > 0.5


def test_a_reset_makes_the_next_call_a_first_one(pair: Pair) -> None:
    elmo, ids = Elmo(*pair, 1, carry_state=True).eval(), batch_to_ids(SENTENCES)
    with torch.no_grad():
        (first,) = elmo(ids)["elmo_representations"]
        (second,) = elmo(ids)["elmo_representations"]
    # a state of 0 and one of the size of the projections (about 1) are far apart
    assert largest_difference(first, second) > 1e-3
    elmo.reset_states()
    assert torch.equal(elmo(ids)["elmo_representations"][0], first)
    stateless = Elmo(*pair, 1).eval()
    stateless.reset_states()  # nothing to forget
    assert torch.equal(stateless(ids)["elmo_representations"][0], first)


def test_each_call_can_be_learned_from_by_itself(pair: Pair) -> None:
    elmo, ids = Elmo(*pair, 1, requires_grad=True, carry_state=True), batch_to_ids(SENTENCES)
    for _ in range(2):  # a history reaching into the first call would make the second one fail
        elmo(ids)["elmo_representations"][0].sum().backward()
    assert all(parameter.grad is not None for parameter in elmo.parameters())
