"""A model for use, whatever it was on disk: found, checked, read, and written again."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Int
from safetensors import SafetensorError
from torch import Tensor

from elmo_torch.errors import CheckpointError, OutputError
from elmo_torch.formats import bilm_hdf5, native
from elmo_torch.formats.archives import is_archive, unpacked
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.softmax import SoftmaxLayer
from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.vocabulary import Vocabulary
from elmo_torch.text.word_ids import WordIds

__all__ = ["Checkpoint", "FormatName", "load_checkpoint", "save_checkpoint"]

FormatName = Literal["native", "bilm"]

_OPTIONS_FILE, _WEIGHTS_FILE = "options.json", "weights.hdf5"
_WEIGHTS_SUFFIXES = (".hdf5", ".h5")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Config, weights, spelling scheme and provenance of one model; softmax and vocabulary if asked for."""

    config: BiLmConfig
    state_dict: Mapping[str, Tensor]  # of BiLm, float32
    source: str  # where it was read from, for messages
    format: FormatName
    options: Mapping[str, Any] | None = None  # options.json of the source, as it stood
    provenance: Mapping[str, Any] = field(default_factory=dict)
    softmax: Mapping[str, Tensor] | None = None  # of SoftmaxLayer
    vocabulary: Vocabulary | None = None

    def bilm(self) -> BiLm:
        """Return the model, in evaluation mode; its weights are this checkpoint's own tensors."""
        with torch.device("meta"):
            bilm = BiLm(self.config)
        bilm.load_state_dict(self.state_dict, assign=True)
        return bilm.eval()

    def softmax_layer(self) -> SoftmaxLayer:
        """Return the softmax; CheckpointError if the model has none, as most published ones."""
        if self.softmax is None or self.vocabulary is None:
            raise CheckpointError(
                f"{self.source}: has no softmax with its vocabulary, so it cannot score words; "
                "published ELMo files leave them out"
            )
        layer = SoftmaxLayer(
            vocab_size=len(self.vocabulary), projection_dim=self.config.lstm.projection_dim
        )
        layer.load_state_dict(self.softmax)
        return layer.eval()

    def token_ids(self) -> CharIds | WordIds:
        """Return the encoder from word types to the ids that the model reads."""
        encoder = self.config.token_encoder
        if isinstance(encoder, CharCnnConfig):
            return CharIds(encoder.max_chars)
        if self.vocabulary is None:
            raise CheckpointError(
                f"{self.source}: a word-input model needs its vocab.txt beside it"
            )
        return WordIds(self.vocabulary)

    @property
    def boundary_ids(self) -> Int[Tensor, " boundaries *chars"]:
        """The ids of BOS and EOS, for ``Elmo``."""
        return torch.from_numpy(self.token_ids().boundaries())


def load_checkpoint(
    path: str | Path | tuple[str | Path, str | Path], *, language_model: bool = False
) -> Checkpoint:
    """Return the model at a path, its format recognised by what is there.

    ``path`` is our folder; a folder, ``.zip`` or ``.tar.gz`` with an options file and a weights
    file; one of these two files with the other beside it; or both, as (options, weights).
    ``language_model`` reads softmax and vocabulary too. Raises CheckpointError.
    """
    if isinstance(path, tuple):
        options_path, weights_path = map(Path, path)
        return _load_pair(options_path, weights_path, language_model=language_model)
    path = Path(path)
    if not path.exists():
        raise CheckpointError(
            f"{path}: no such model; give a folder, an archive, or a file of a pair"
        )
    if path.is_dir():
        return _load_folder(path, language_model=language_model)
    if is_archive(path):
        with unpacked(path) as folder:
            return _load_folder(folder, language_model=language_model, source=str(path))
    return _load_pair(*_complete_pair(path), language_model=language_model)


def _load_folder(folder: Path, *, language_model: bool, source: str | None = None) -> Checkpoint:
    configs = sorted(folder.rglob(native.CONFIG_FILE))
    if len(configs) == 1 and (configs[0].parent / native.MODEL_FILE).exists():
        return _load_native(configs[0].parent, language_model=language_model, source=source)
    options = [p for p in sorted(folder.rglob("*options*.json")) if p.is_file()]
    weights = [p for p in sorted(folder.rglob("*")) if p.suffix in _WEIGHTS_SUFFIXES]
    where = source or str(folder)
    if (folder / "char.dic").exists() or any(folder.rglob("token_embedder.pkl")):
        raise CheckpointError(f"{where}: is a model of ELMoForManyLangs, which is not read yet")
    if not options and not weights:
        raise CheckpointError(
            f"{where}: holds no model: neither {native.CONFIG_FILE} with {native.MODEL_FILE}, "
            "nor an options.json with a weights .hdf5"
        )
    if len(options) != 1 or len(weights) != 1:
        found = ", ".join(str(p.relative_to(folder)) for p in [*options, *weights])
        raise CheckpointError(
            f"{where}: one options file and one weights file were expected; found {found}"
        )
    return _load_pair(options[0], weights[0], language_model=language_model, source=source)


def _complete_pair(path: Path) -> tuple[Path, Path]:
    """Return options and weights from the path of one of them; the other has a name that fits."""
    is_weights = path.suffix in _WEIGHTS_SUFFIXES
    if not is_weights and path.suffix != ".json":
        raise CheckpointError(
            f"{path}: is no model; give a folder, .zip, .tar.gz, .hdf5 or options .json"
        )
    if is_weights:
        names = [path.name.replace("weights", "options"), _OPTIONS_FILE]
        others = [path.with_name(name).with_suffix(".json") for name in names]
    else:
        names = [path.name.replace("options", "weights"), _WEIGHTS_FILE, "model.hdf5"]
        others = [
            path.with_name(name).with_suffix(suffix)
            for name in names
            for suffix in _WEIGHTS_SUFFIXES
        ]
    for other in others:
        if other.exists():
            return (other, path) if is_weights else (path, other)
    kind = "options" if is_weights else "weights"
    raise CheckpointError(
        f"{path}: its {kind} file was looked for as {', '.join(p.name for p in dict.fromkeys(others))} "
        "beside it and not found; give both as OPTIONS,WEIGHTS"
    )


def _load_pair(
    options_path: Path, weights_path: Path, *, language_model: bool, source: str | None = None
) -> Checkpoint:
    config, options = bilm_hdf5.read_options(options_path)
    needs_vocabulary = language_model or not isinstance(config.token_encoder, CharCnnConfig)
    return Checkpoint(
        config=config,
        state_dict=bilm_hdf5.read_weights(weights_path, config),
        source=source or str(weights_path),
        format="bilm",
        options=options,
        softmax=bilm_hdf5.read_softmax(weights_path, config) if language_model else None,
        vocabulary=_find_vocabulary(options_path.parent) if needs_vocabulary else None,
    )


def _find_vocabulary(folder: Path) -> Vocabulary | None:
    found = sorted(folder.glob("vocab*.txt"))
    return Vocabulary.read(found[0]) if len(found) == 1 else None


def _load_native(folder: Path, *, language_model: bool, source: str | None) -> Checkpoint:
    config, options, provenance = native.read_config(folder / native.CONFIG_FILE)
    vocabulary_path, softmax_path = folder / native.VOCABULARY_FILE, folder / native.SOFTMAX_FILE
    needs_vocabulary = language_model or not isinstance(config.token_encoder, CharCnnConfig)
    vocabulary = (
        Vocabulary.read(vocabulary_path) if needs_vocabulary and vocabulary_path.exists() else None
    )
    softmax = None
    if language_model and vocabulary is not None and softmax_path.exists():
        softmax = native.read_softmax(
            softmax_path, vocab_size=len(vocabulary), projection_dim=config.lstm.projection_dim
        )
    return Checkpoint(
        config=config,
        state_dict=native.read_model(folder / native.MODEL_FILE, config),
        source=source or str(folder),
        format="native",
        options=options,
        provenance=provenance,
        softmax=softmax,
        vocabulary=vocabulary,
    )


def save_checkpoint(
    checkpoint: Checkpoint,
    folder: Path,
    *,
    format: FormatName = "native",
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write the model as a new folder; it appears whole or not at all.

    ``dtype`` rounds the weights of the native format; the bilm pair is always float32.
    Raises OutputError if the folder exists or cannot be written.
    """
    if folder.exists():
        raise OutputError(f"{folder}: exists already; remove it or give another name")
    partial = folder.with_name(folder.name + ".partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        if format == "bilm":
            bilm_hdf5.write_pair(
                partial / _OPTIONS_FILE,
                partial / _WEIGHTS_FILE,
                config=checkpoint.config,
                options=checkpoint.options,
                state_dict=checkpoint.state_dict,
                softmax=checkpoint.softmax,
            )
        else:
            _write_native(checkpoint, partial, dtype)
        if checkpoint.vocabulary is not None:
            checkpoint.vocabulary.write(partial / native.VOCABULARY_FILE)
        partial.replace(folder)
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder}: cannot be written: {reason}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_native(checkpoint: Checkpoint, folder: Path, dtype: torch.dtype) -> None:
    native.write_config(
        folder / native.CONFIG_FILE,
        checkpoint.config,
        options=checkpoint.options,
        provenance=checkpoint.provenance,
    )
    native.write_tensors(folder / native.MODEL_FILE, checkpoint.state_dict, dtype)
    if checkpoint.softmax is not None:
        native.write_tensors(folder / native.SOFTMAX_FILE, checkpoint.softmax, dtype)
