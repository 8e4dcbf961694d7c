"""A slow biLM in NumPy, float64, straight from the equations: one sentence and one token at a time.

It reads the datasets of ``weights.hdf5`` in their own layout (TensorFlow's matrices, gates packed
as input, candidate, forget, output, forget bias 1.0 not included) and shares no code with the
package, so the two can witness for each other. Character-input models only.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

__all__ = ["NumpyBiLm", "State", "read_model", "read_sentence", "token_vector", "zero_state"]

Array = NDArray[np.float64]

# memory and hidden state of one layer; indexed [direction][layer], forward first
State = list[list[tuple[Array, Array]]]

BYTE_BOS, BYTE_EOS, BYTE_BOW, BYTE_EOW, BYTE_PAD = 256, 257, 258, 259, 260


@dataclass(frozen=True)
class NumpyBiLm:
    """The options as they stand in the file, and the datasets by their names in the file."""

    options: dict[str, Any]
    weights: dict[str, Array]


def read_model(options_path: Path, weights_path: Path) -> NumpyBiLm:
    weights: dict[str, Array] = {}

    def collect(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            weights[name] = np.asarray(item, dtype=np.float64)

    with h5py.File(weights_path, "r") as file:
        file.visititems(collect)
    return NumpyBiLm(options=json.loads(options_path.read_text()), weights=weights)


def byte_ids(word: str, max_chars: int) -> list[int]:
    """Return the unshifted ids of a word: rows of ``char_embed`` as they stand in the file."""
    if word == "<S>":
        spelling = [BYTE_BOS]
    elif word == "</S>":
        spelling = [BYTE_EOS]
    else:
        spelling = list(word.encode("utf-8", "ignore")[: max_chars - 2])
    ids = [BYTE_BOW, *spelling, BYTE_EOW]
    return ids + [BYTE_PAD] * (max_chars - len(ids))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "tanh": np.tanh}


def token_vector(model: NumpyBiLm, word: str) -> Array:
    """Return the char CNN's vector, (projection_dim,)."""
    cnn, weights = model.options["char_cnn"], model.weights
    ids = byte_ids(word, cnn["max_characters_per_token"])
    chars = weights["char_embed"][ids]  # (max_chars, char_dim)
    activation = ACTIVATIONS[cnn["activation"]]

    pooled = []
    for index, (width, _) in enumerate(cnn["filters"]):
        kernel = weights[f"CNN/W_cnn_{index}"][0]  # (width, char_dim, count)
        positions = [
            np.einsum("we,wen->n", chars[start : start + width], kernel)
            for start in range(len(ids) - width + 1)
        ]
        pooled.append(activation(np.max(positions, axis=0) + weights[f"CNN/b_cnn_{index}"]))
    x: Array = np.concatenate(pooled)

    for index in range(cnn.get("n_highway") or 0):
        layer = f"CNN_high_{index}/"
        gate = sigmoid(x @ weights[layer + "W_carry"] + weights[layer + "b_carry"])
        transformed = relu(x @ weights[layer + "W_transform"] + weights[layer + "b_transform"])
        x = gate * transformed + (1 - gate) * x

    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def zero_state(model: NumpyBiLm) -> State:
    lstm = model.options["lstm"]
    layer = (np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"]))
    return [[layer] * lstm["n_layers"] for _ in range(2)]


def lstm_step(
    model: NumpyBiLm, cell: str, x: Array, memory: Array, hidden: Array
) -> tuple[Array, Array]:
    """Return memory and hidden state after one token; ``cell`` is the datasets' common prefix."""
    lstm, weights = model.options["lstm"], model.weights
    z = np.concatenate([x, hidden]) @ weights[cell + "W_0"] + weights[cell + "B"]
    i, j, f, o = np.split(z, 4)
    memory = sigmoid(f + 1.0) * memory + sigmoid(i) * np.tanh(j)
    if lstm.get("cell_clip") is not None:
        memory = np.clip(memory, -lstm["cell_clip"], lstm["cell_clip"])
    hidden = sigmoid(o) * np.tanh(memory)
    if cell + "W_P_0" in weights:
        hidden = hidden @ weights[cell + "W_P_0"]
        if lstm.get("proj_clip") is not None:
            hidden = np.clip(hidden, -lstm["proj_clip"], lstm["proj_clip"])
    return memory, hidden


def read_sentence(model: NumpyBiLm, sentence: Sequence[str], state: State) -> tuple[Array, State]:
    """Return layers 0..L with both boundary tokens, (layers, tokens, dim), and the state after them."""
    lstm = model.options["lstm"]
    vectors = [token_vector(model, word) for word in ["<S>", *sentence, "</S>"]]
    halves, after = [], []
    for direction in range(2):
        inputs = vectors if direction == 0 else vectors[::-1]
        outputs = [inputs]
        states_after = []
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            memory, hidden = state[direction][layer]
            layer_outputs = []
            for x in inputs:
                memory, hidden = lstm_step(model, cell, x, memory, hidden)
                residual = layer >= 1 and lstm.get("use_skip_connections")
                layer_outputs.append(hidden + x if residual else hidden)
            states_after.append((memory, hidden))
            outputs.append(layer_outputs)
            inputs = layer_outputs
        half = np.array(outputs)  # (layers, tokens, projection_dim), in this direction's order
        halves.append(half if direction == 0 else half[:, ::-1])
        after.append(states_after)
    return np.concatenate(halves, axis=-1), after
