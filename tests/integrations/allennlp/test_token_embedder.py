import inspect

import torch

from elmo_torch.integrations.allennlp import Elmo, ElmoTokenEmbedder, batch_to_ids
from tests.helpers import PROJ
from tests.integrations.allennlp.pairs import SENTENCES, Pair


def test_arguments_and_defaults_are_allennlps_but_for_the_files() -> None:
    # as inspect.signature shows them in version 2.10.1, where the two files have URLs as defaults
    parameters = list(inspect.signature(ElmoTokenEmbedder).parameters.values())
    assert [p.name for p in parameters[:2]] == ["options_file", "weight_file"]
    assert [(p.name, p.default) for p in parameters[2:]] == [
        ("do_layer_norm", False),
        ("dropout", 0.5),
        ("requires_grad", False),
        ("projection_dim", None),
        ("vocab_to_cache", None),
        ("scalar_mix_parameters", None),
    ]
    forward = inspect.signature(ElmoTokenEmbedder.forward)
    assert list(forward.parameters) == ["self", "elmo_tokens", "word_inputs"]


def test_its_vectors_are_those_of_elmo_with_one_mix(pair: Pair) -> None:
    ids = batch_to_ids(SENTENCES)
    arguments = {"do_layer_norm": True, "scalar_mix_parameters": [0.3, -0.2, 0.5]}
    embedder = ElmoTokenEmbedder(*pair, **arguments).eval()  # type: ignore[arg-type]  # a mapping of mixed kinds
    elmo = Elmo(*pair, 1, **arguments).eval()  # type: ignore[arg-type]  # a mapping of mixed kinds
    assert embedder.get_output_dim() == 2 * PROJ
    assert torch.equal(embedder(ids), elmo(ids)["elmo_representations"][0])


def test_a_projection_narrows_the_vectors_and_learns(pair: Pair) -> None:
    embedder = ElmoTokenEmbedder(*pair, projection_dim=3, dropout=0.0)
    ids = batch_to_ids(SENTENCES * 2)
    assert embedder.get_output_dim() == 3
    folded = embedder(ids.view(2, 3, 5, 50))
    assert folded.shape == (2, 3, 5, 3)
    # the same rows in another matrix shape: float32 at values of about 1 differs by some 1e-7
    torch.testing.assert_close(folded.flatten(0, 1), embedder(ids), rtol=0, atol=1e-6)
    folded.sum().backward()
    learning = {name for name, p in embedder.named_parameters() if p.grad is not None}
    assert learning == {
        "_projection.weight",
        "_projection.bias",
        "_elmo.scalar_mix_0.weights",
        "_elmo.scalar_mix_0.gamma",
    }
