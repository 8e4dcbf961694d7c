"""``weights.hdf5`` of bilm-tf and AllenNLP: the table of rules, and reading and writing the file.

TensorFlow keeps matrices transposed and packs an LSTM's gates as input, candidate, forget, output,
with the input's and the recurrence's weights in one matrix; the rules undo that and nothing else.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import Tensor

from elmo_torch.errors import CheckpointError
from elmo_torch.formats.bilm_options import config_from_options, options_from_config
from elmo_torch.formats.hdf5_file import BYTES_PER_DATASET, creating_hdf5
from elmo_torch.formats.rules import Rule, apply_rules, revert_rules
from elmo_torch.nn.bilm import BiLmConfig
from elmo_torch.nn.char_cnn import CharCnnConfig

__all__ = ["read_options", "read_softmax", "read_weights", "write_pair"]

# names have up to five groups, each about as large as a dataset's own surroundings
_BYTES_AROUND_TENSOR = 6 * BYTES_PER_DATASET

_SOFTMAX = {"softmax/W": "weight", "softmax/b": "bias"}


def encoder_rules(config: BiLmConfig) -> Iterator[Rule]:
    """Yield one rule for each dataset of a weights file."""
    encoder = config.token_encoder
    if isinstance(encoder, CharCnnConfig):
        yield from _char_cnn_rules(encoder)
    else:
        yield _padded_table(
            "embedding",
            "token_encoder.word_embedding.weight",
            encoder.vocab_size,
            encoder.projection_dim,
        )
    lstm = config.lstm
    cell, proj = lstm.cell_dim, lstm.projection_dim
    for number, direction in enumerate(("forward_layers", "backward_layers")):
        for index in range(lstm.num_layers):
            source = f"RNN_{number}/RNN/MultiRNNCell/Cell{index}/LSTMCell/"
            target = f"lstm.{direction}.{index}."
            yield Rule(
                source=source + "W_0",
                shape=(2 * proj, 4 * cell),
                targets=(target + "w_input", target + "w_hidden"),
                read=lambda w: tuple(_swap_gates(part.T) for part in w.chunk(2)),
                write=lambda parts: torch.cat([_swap_gates(part).T for part in parts]),
            )
            yield _rule(source + "B", (4 * cell,), target + "bias", _swap_gates, _swap_gates)
            if proj < cell:
                yield _matrix(source + "W_P_0", target + "w_proj", cell, proj)


def _char_cnn_rules(config: CharCnnConfig) -> Iterator[Rule]:
    yield _padded_table(
        "char_embed",
        "token_encoder.char_embedding.weight",
        config.num_char_ids - 1,
        config.char_dim,
    )
    for index, (width, count) in enumerate(config.filters):
        target = f"token_encoder.convolutions.{index}."
        yield _rule(
            f"CNN/W_cnn_{index}",
            (1, width, config.char_dim, count),
            target + "weight",
            lambda w: w[0].permute(2, 1, 0),
            lambda w: w.permute(2, 1, 0)[None],
        )
        yield _same(f"CNN/b_cnn_{index}", target + "bias", count)
    size = config.num_filters
    for index in range(config.num_highway):
        # the file's "carry" is the gate of the transformed input; see nn.highway
        for source, part in (("carry", "gate"), ("transform", "transform")):
            target = f"token_encoder.highways.{index}.{part}."
            yield _matrix(f"CNN_high_{index}/W_{source}", target + "weight", size, size)
            yield _same(f"CNN_high_{index}/b_{source}", target + "bias", size)
    if size != config.projection_dim:
        target = "token_encoder.projection."
        yield _matrix("CNN_proj/W_proj", target + "weight", size, config.projection_dim)
        yield _same("CNN_proj/b_proj", target + "bias", config.projection_dim)


def _rule(
    source: str,
    shape: tuple[int, ...],
    target: str,
    read: Callable[[Tensor], Tensor],
    write: Callable[[Tensor], Tensor],
) -> Rule:
    return Rule(
        source=source,
        shape=shape,
        targets=(target,),
        read=lambda tensor: (read(tensor),),
        write=lambda tensors: write(tensors[0]),
    )


def _same(source: str, target: str, size: int) -> Rule:
    return _rule(source, (size,), target, lambda b: b, lambda b: b)


def _matrix(source: str, target: str, rows: int, columns: int) -> Rule:
    return _rule(source, (rows, columns), target, lambda w: w.T, lambda w: w.T)


def _padded_table(source: str, target: str, rows: int, columns: int) -> Rule:
    """Rule of a table that gains a row of zeros for padding."""
    return _rule(
        source,
        (rows, columns),
        target,
        lambda w: torch.cat([w.new_zeros(1, columns), w]),
        lambda w: w[1:],
    )


def _swap_gates(packed: Tensor) -> Tensor:
    """Exchange the second and third quarter of the first axis: i, j, f, o <-> i, f, g, o."""
    first, second, third, fourth = packed.chunk(4)
    return torch.cat([first, third, second, fourth])


def read_options(path: Path) -> tuple[BiLmConfig, dict[str, Any]]:
    """Return the config and the options as they stand in the file."""
    try:
        options = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested without end
        raise CheckpointError(f"{path}: not a JSON file: {error}") from error
    return config_from_options(options, where=str(path)), options


def read_weights(path: Path, config: BiLmConfig) -> dict[str, Tensor]:
    """Return the state dict of the biLM; a softmax in the file is left for ``read_softmax``."""
    tensors = _read_datasets(path, lambda name: name not in _SOFTMAX)
    if config.lstm.num_layers == 1:  # TensorFlow names a single layer without its stack
        tensors = {
            name.replace("RNN/LSTMCell/", "RNN/MultiRNNCell/Cell0/LSTMCell/"): tensor
            for name, tensor in tensors.items()
        }
    return apply_rules(encoder_rules(config), tensors, where=str(path))


def read_softmax(path: Path, config: BiLmConfig) -> dict[str, Tensor] | None:
    """Return the state dict of the softmax, or None if the file holds none, as published ones do."""
    tensors = _read_datasets(path, lambda name: name in _SOFTMAX)
    if not tensors:
        return None
    vocab_size = max((len(tensor) for tensor in tensors.values() if tensor.dim()), default=0)
    shapes = {"softmax/W": (vocab_size, config.lstm.projection_dim), "softmax/b": (vocab_size,)}
    rules = (
        _rule(name, shapes[name], target, lambda w: w, lambda w: w)
        for name, target in _SOFTMAX.items()
    )
    return apply_rules(rules, tensors, where=str(path))


def _read_datasets(path: Path, wanted: Callable[[str], bool]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}

    def collect(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset) and wanted(name):
            if item.dtype.kind != "f":
                raise CheckpointError(
                    f"{path}: {name} holds {item.dtype}, not floating point numbers"
                )
            tensors[name] = torch.from_numpy(np.asarray(item, dtype=np.float32))

    try:
        with h5py.File(path, "r") as file:
            file.visititems(collect)
    except (OSError, RuntimeError, KeyError) as error:
        raise CheckpointError(
            f"{path}: cannot be read as HDF5; it may be cut short or damaged ({error})"
        ) from error
    return tensors


def write_pair(
    options_path: Path,
    weights_path: Path,
    *,
    config: BiLmConfig,
    options: Mapping[str, Any] | None,
    state_dict: Mapping[str, Tensor],
    softmax: Mapping[str, Tensor] | None = None,
) -> None:
    """Write the two files that bilm-tf's and AllenNLP's readers load.

    ``options`` are written as they are when they describe the model; None: made from the config.
    """
    chosen = dict(options) if options is not None else options_from_config(config)
    options_path.write_text(json.dumps(chosen, indent=2) + "\n", encoding="utf-8")
    tensors = revert_rules(encoder_rules(config), state_dict)
    if softmax is not None:
        tensors |= {name: softmax[key] for name, key in _SOFTMAX.items()}
    num_bytes = sum(4 * tensor.numel() + _BYTES_AROUND_TENSOR for tensor in tensors.values())
    with creating_hdf5(weights_path, num_bytes) as file:
        for name, tensor in tensors.items():
            file.create_dataset(name, data=tensor.float().numpy())
