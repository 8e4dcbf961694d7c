"""What other implementations gave, in one shape: batches of sentences with the expected layers and states."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import h5py
import torch
from torch import Tensor

from elmo_torch.formats.bilm_hdf5 import read_options, read_weights
from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState, BiLstmpConfig
from tests.helpers import read_json
from tests.shared_data import shared

__all__ = [
    "GOLDEN_FILES",
    "GOLDEN_RUNS",
    "TENSORFLOW_RUNS",
    "ModelFiles",
    "PeerBatch",
    "PeerRun",
    "dataset",
    "golden_model",
    "golden_sentences",
    "load_bilm",
    "peer_run",
    "tensorflow_model",
]

_STATELESS_AND_ONE_MORE = ["stateful_growshrink", "stateless_b8"]
_ALL_SCENARIOS = [
    "stateful_b1",
    "stateful_growshrink",
    "stateful_repeat",
    "stateful_sizes_up_down",
    "stateful_sorted_by_length",
    "stateless_b1",
    "stateless_b8",
]

# file of expected values -> its model and its scenarios
GOLDEN_FILES = {
    "allennlp_tiny": ("tiny", _ALL_SCENARIOS),
    "allennlp_tiny_clippy": ("tiny_clippy", _ALL_SCENARIOS),
    "allennlp_tiny_1hw_tanh": ("tiny_1hw_tanh", _STATELESS_AND_ONE_MORE),
    "tf_tiny_noskip": ("tiny_noskip", _STATELESS_AND_ONE_MORE),
}
GOLDEN_RUNS = [f"{file}/{name}" for file, (_, names) in GOLDEN_FILES.items() for name in names]
TENSORFLOW_RUNS = ["bilm-tf", "allennlp"]  # folders of fixtures/bilm_tf

_TENSORFLOW_SENTENCES = {
    "bilm-tf": "lm_embeddings_sentences.json",
    "allennlp": "sentences.json",
}


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    options: Path
    weights: Path


@dataclass(frozen=True, kw_only=True)
class PeerBatch:
    """One batch and what the peer gave for it."""

    sentences: list[list[str]]
    rows: list[Tensor]  # (layers, tokens, dim) a sentence; if not all layers, then the topmost ones
    state: BiLmState | None  # of all rows so far, after the batch


@dataclass(frozen=True, kw_only=True)
class PeerRun:
    """Batches that one instance of a peer read in order."""

    model: ModelFiles
    carried: bool
    boundaries: bool  # the rows hold the boundary tokens
    batches: list[PeerBatch]


def golden_model(name: str) -> ModelFiles:
    folder = shared(f"fixtures/golden/models/{name}")
    return ModelFiles(options=folder / "options.json", weights=folder / "weights.hdf5")


def tensorflow_model(folder: str) -> ModelFiles:
    path = shared(f"fixtures/bilm_tf/{folder}")
    return ModelFiles(options=path / "options.json", weights=path / "lm_weights.hdf5")


def load_bilm(
    files: ModelFiles, change: Callable[[BiLstmpConfig], BiLstmpConfig] = lambda lstm: lstm
) -> BiLm:
    """Return the model of the files; ``change`` may bend the settings of its recurrent layers."""
    config, _ = read_options(files.options)
    state_dict = read_weights(files.weights, config)
    bilm = BiLm(type(config)(token_encoder=config.token_encoder, lstm=change(config.lstm)))
    bilm.load_state_dict(state_dict)
    return bilm.requires_grad_(False)


def golden_sentences() -> list[list[str]]:
    inputs = cast(dict[str, list[list[str]]], read_json(shared("fixtures/golden/inputs_A.json")))
    return inputs["sentences"]


def peer_run(name: str) -> PeerRun:
    """Return a run by its name: of TENSORFLOW_RUNS, or of GOLDEN_RUNS."""
    return _tensorflow_run(name) if name in TENSORFLOW_RUNS else _golden_run(name)


def dataset(group: h5py.Group, name: str) -> Tensor:
    return torch.from_numpy(group[name][()])


def _golden_run(name: str) -> PeerRun:
    file_name, scenario = name.split("/")
    sentences = golden_sentences()
    with h5py.File(shared(f"fixtures/golden/{file_name}.h5"), "r") as file:
        group = file[scenario]
        return PeerRun(
            model=golden_model(GOLDEN_FILES[file_name][0]),
            carried=scenario.startswith("stateful"),
            boundaries=file.attrs["peer"] == "allennlp",
            batches=[_golden_batch(group[batch], sentences) for batch in sorted(group)],
        )


def _golden_batch(group: h5py.Group, sentences: list[list[str]]) -> PeerBatch:
    chosen = [sentences[int(number)] for number in group.attrs["sentences"]]
    state = None
    if "state_h" in group:
        state = BiLmState(hidden=dataset(group, "state_h"), memory=dataset(group, "state_c"))
    rows = [dataset(group, f"{row:02d}") for row in range(len(chosen))]
    return PeerBatch(sentences=chosen, rows=rows, state=state)


def _tensorflow_run(folder: str) -> PeerRun:
    """Batch i is sentence i of each of the three files; both halves of the top layer are expected."""
    path = shared(f"fixtures/bilm_tf/{folder}")
    lines = cast(list[list[str]], read_json(path / _TENSORFLOW_SENTENCES[folder]))
    expected = []
    for number in range(len(lines)):
        with h5py.File(path / f"lm_embeddings_{number}.hdf5", "r") as file:
            # (2, tokens, proj) -> (1, tokens, 2 * proj)
            expected.append([torch.cat([*dataset(file, key)], -1)[None] for key in sorted(file)])
    return PeerRun(
        model=tensorflow_model(folder),
        carried=True,
        boundaries=False,
        batches=[
            PeerBatch(sentences=[line.split() for line in column], rows=list(rows), state=None)
            for column, rows in zip(
                zip(*lines, strict=True), zip(*expected, strict=True), strict=True
            )
        ],
    )
