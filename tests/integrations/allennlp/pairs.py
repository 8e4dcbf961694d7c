"""Models on disk as AllenNLP reads them, and the golden values that it gave."""

from dataclasses import dataclass
from pathlib import Path

import h5py
from torch import Tensor

from elmo_torch.formats.checkpoint import save_checkpoint
from elmo_torch.nn.bilm import BiLmConfig
from tests.golden.peers import GOLDEN_FILES, dataset, golden_model, golden_sentences
from tests.helpers import bilm_config, char_cnn_config
from tests.models import random_checkpoint
from tests.shared_data import shared

__all__ = ["GOLDEN_MIXES", "SENTENCES", "GoldenMix", "Pair", "golden_mix", "write_pair"]

Pair = tuple[Path, Path]  # options, weights

# three sentences, of lengths 4, 1 and 5
SENTENCES = [
    ["The", "bank", "is", "steep"],
    ["Yes"],
    ["The", "bank", "approved", "the", "loan"],
]
GOLDEN_MIXES = [name for name in GOLDEN_FILES if name.startswith("allennlp_")]


def write_pair(folder: Path, config: BiLmConfig | None = None) -> Pair:
    config = config or bilm_config(char_cnn_config(max_chars=50))
    save_checkpoint(random_checkpoint(config), folder, format="bilm")
    return folder / "options.json", folder / "weights.hdf5"


@dataclass(frozen=True, kw_only=True)
class GoldenMix:
    """AllenNLP's ``Elmo`` on one batch: what it read and the four results."""

    pair: Pair
    sentences: list[list[str]]
    char_ids: Tensor
    scalar_mix_parameters: list[float]
    gamma: float
    expected: dict[tuple[bool, bool], Tensor]  # (do_layer_norm, keep_sentence_boundaries)


def golden_mix(name: str) -> GoldenMix:
    sentences = golden_sentences()
    files = golden_model(GOLDEN_FILES[name][0])
    with h5py.File(shared(f"fixtures/golden/{name}.h5"), "r") as file:
        group = file["mix"]
        return GoldenMix(
            pair=(files.options, files.weights),
            sentences=[sentences[int(number)] for number in group.attrs["sentences"]],
            char_ids=dataset(group, "char_ids").long(),
            scalar_mix_parameters=[float(x) for x in group.attrs["scalar_mix_parameters"]],
            gamma=float(group.attrs["gamma"]),
            expected={
                (norm, keep): dataset(group, f"layernorm_{norm:d}_keep_boundaries_{keep:d}")
                for norm in (False, True)
                for keep in (False, True)
            },
        )
