"""The NumPy biLM is right by TensorFlow's values, and ``nn`` computes the same function."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.text.char_ids import CharIds
from tests.golden.peers import (
    TENSORFLOW_RUNS,
    ModelFiles,
    golden_model,
    golden_sentences,
    load_bilm,
    peer_run,
    tensorflow_model,
)
from tests.reference.numpy_bilm import State, read_model, read_sentence, zero_state

_GOLDEN_MODELS = ["tiny", "tiny_clippy", "tiny_1hw_tanh", "tiny_noskip"]


@pytest.mark.parametrize("name", TENSORFLOW_RUNS)
def test_the_reference_gives_tensorflows_top_layer(name: str) -> None:
    run = peer_run(name)
    model = read_model(run.model.options, run.model.weights)
    states = [zero_state(model)] * len(run.batches[0].sentences)
    worst = 0.0
    for batch in run.batches:
        for row, sentence in enumerate(batch.sentences):
            layers, states[row] = read_sentence(model, sentence, states[row])
            difference = layers[-1:, 1:-1] - batch.rows[row].numpy()
            worst = max(worst, float(np.abs(difference).max()))
    # measured 6.9e-7 and 1.14e-6, which is TensorFlow's own float32 rounding
    assert worst <= 2e-6


def _read_with_nn(
    bilm: BiLm, sentence: Sequence[str], state: BiLmState
) -> tuple[NDArray[np.float64], BiLmState]:
    ids = torch.from_numpy(CharIds().encode(["<S>", *sentence, "</S>"]))
    output = bilm(ids[None], state)
    return output.layers[:, 0].numpy(), output.state


def _flatten(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hidden state and memory as ``nn`` lays them out, without the batch axis."""
    hidden = [[hidden for _, hidden in layers] for layers in state]
    memory = [[memory for memory, _ in layers] for layers in state]
    return np.concatenate(hidden, axis=-1), np.concatenate(memory, axis=-1)


def _assert_nn_is_the_reference(files: ModelFiles, sentences: Sequence[Sequence[str]]) -> None:
    reference = read_model(files.options, files.weights)
    bilm = load_bilm(files).double()
    ours, theirs = bilm.lstm.zero_state(1), zero_state(reference)
    for sentence in sentences:
        layers, ours = _read_with_nn(bilm, sentence, ours)
        expected, theirs = read_sentence(reference, sentence, theirs)
        hidden, memory = _flatten(theirs)
        # both are float64; the order of sums differs, measured 2.7e-15 at most
        for one, other in [
            (layers, expected),
            (ours.hidden[:, 0].numpy(), hidden),
            (ours.memory[:, 0].numpy(), memory),
        ]:
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", TENSORFLOW_RUNS)
def test_nn_in_float64_is_the_reference_on_tensorflows_models(name: str) -> None:
    batches = peer_run(name).batches
    sentences = [sentence for batch in batches[:3] for sentence in batch.sentences]
    _assert_nn_is_the_reference(tensorflow_model(name), sentences)


@pytest.mark.parametrize("name", _GOLDEN_MODELS)
def test_nn_in_float64_is_the_reference_on_awkward_sentences(name: str) -> None:
    sentences = [sentence for sentence in golden_sentences() if len(sentence) < 40]
    assert len(sentences) >= 30
    _assert_nn_is_the_reference(golden_model(name), sentences)
