"""Parity of ``nn`` and of the runtime with the values of TensorFlow's bilm-tf and AllenNLP."""

import h5py
import pytest
import torch

from elmo_torch.kernels.precision import Precision
from elmo_torch.text.char_ids import CharIds
from tests.golden.parity import RUNTIME_TOLERANCES, TOLERANCE, distance
from tests.golden.peers import (
    GOLDEN_RUNS,
    TENSORFLOW_RUNS,
    dataset,
    load_bilm,
    peer_run,
    tensorflow_model,
)
from tests.golden.readers import FrozenReader, PlainReader
from tests.helpers import largest_difference
from tests.shared_data import shared


@pytest.mark.parametrize("name", TENSORFLOW_RUNS + GOLDEN_RUNS)
def test_layers_and_carried_states_are_the_peers(name: str) -> None:
    run = peer_run(name)
    measured = distance(PlainReader(load_bilm(run.model)), run)
    assert measured.layers <= TOLERANCE
    if name.startswith("allennlp_") and run.carried:
        assert measured.state is not None
        assert measured.state <= TOLERANCE


@pytest.mark.parametrize("precision", RUNTIME_TOLERANCES)
@pytest.mark.parametrize("name", TENSORFLOW_RUNS + GOLDEN_RUNS)
def test_the_runtimes_layers_and_states_are_the_peers(name: str, precision: Precision) -> None:
    run = peer_run(name)
    measured = distance(FrozenReader(load_bilm(run.model), precision), run)
    assert measured.layers <= RUNTIME_TOLERANCES[precision]
    assert (measured.state or 0) <= RUNTIME_TOLERANCES[precision]
    if precision != "fp32":
        assert measured.layers > TOLERANCE, "this precision was not used"


def test_the_char_cnn_gives_the_peers_vectors_for_a_whole_vocabulary() -> None:
    folder = shared("fixtures/bilm_tf/allennlp")
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").splitlines()
    with h5py.File(folder / "elmo_token_embeddings.hdf5", "r") as file:
        expected = dataset(file, "embedding")
    ids = torch.from_numpy(CharIds().encode(words))
    vectors = load_bilm(tensorflow_model("allennlp")).token_encoder(ids)
    assert largest_difference(vectors, expected) <= TOLERANCE
