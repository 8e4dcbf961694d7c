"""Our own format: a folder with ``config.json`` and ``model.safetensors``.

A whole language model has ``softmax.safetensors`` and ``vocab.txt`` beside them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from elmo_torch.errors import CheckpointError
from elmo_torch.formats.rules import Rule, apply_rules
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.word_embedding import WordEmbeddingConfig

__all__ = [
    "CONFIG_FILE",
    "MODEL_FILE",
    "SOFTMAX_FILE",
    "VOCABULARY_FILE",
    "read_config",
    "read_model",
    "read_softmax",
    "write_config",
    "write_tensors",
]

CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"
SOFTMAX_FILE = "softmax.safetensors"
VOCABULARY_FILE = "vocab.txt"

_Config = TypeVar("_Config", CharCnnConfig, WordEmbeddingConfig, BiLstmpConfig)

_FORMAT, _VERSION = "elmo-torch", 1
_CHAR_SCHEME = "bilm-tf"  # UTF-8 bytes between word marks; see text.char_ids
_KEYS = {
    "format",
    "format_version",
    "char_scheme",
    "token_encoder",
    "lstm",
    "options",
    "provenance",
}
_ENCODERS = {"char_cnn": CharCnnConfig, "word_embedding": WordEmbeddingConfig}


def read_config(path: Path) -> tuple[BiLmConfig, Mapping[str, Any] | None, Mapping[str, Any]]:
    """Return the config, the options.json the model was once read from if any, and its provenance."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise CheckpointError(f'{path}: is not of this package: "format" should be "{_FORMAT}"')
    if data.get("format_version") != _VERSION:
        raise CheckpointError(
            f"{path}: format_version {data.get('format_version')!r} is not read by this version of "
            f"elmo-torch, which knows {_VERSION}; upgrade the package"
        )
    unknown = sorted(data.keys() - _KEYS)
    missing = sorted(_KEYS - data.keys())
    if unknown or missing:
        raise CheckpointError(f"{path}: unknown keys {unknown}, missing keys {missing}")
    if data["char_scheme"] != _CHAR_SCHEME:
        raise CheckpointError(f"{path}: char_scheme {data['char_scheme']!r} is not known")
    try:
        encoder = dict(data["token_encoder"])
        kind = _ENCODERS[encoder.pop("kind")]
        if "filters" in encoder:
            encoder["filters"] = tuple((width, count) for width, count in encoder["filters"])
        config = BiLmConfig(
            token_encoder=_build(kind, encoder), lstm=_build(BiLstmpConfig, data["lstm"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: the model's sizes are not readable: {error}") from error
    return config, data["options"], data["provenance"]


def _build(kind: type[_Config], section: Mapping[str, Any]) -> _Config:
    names = {field.name for field in fields(kind)}
    if section.keys() != names:
        raise ValueError(
            f"unknown keys {sorted(section.keys() - names)}, missing keys {sorted(names - section.keys())}"
        )
    return kind(**section)


def write_config(
    path: Path,
    config: BiLmConfig,
    *,
    options: Mapping[str, Any] | None,
    provenance: Mapping[str, Any],
) -> None:
    """Write ``config.json``."""
    kind = next(k for k, v in _ENCODERS.items() if isinstance(config.token_encoder, v))
    data = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "char_scheme": _CHAR_SCHEME,
        "token_encoder": {"kind": kind, **asdict(config.token_encoder)},
        "lstm": asdict(config.lstm),
        "options": options,
        "provenance": dict(provenance),
    }
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_model(path: Path, config: BiLmConfig) -> dict[str, Tensor]:
    """Return the biLM's state dict in float32."""
    with torch.device("meta"):
        shapes = {key: tuple(tensor.shape) for key, tensor in BiLm(config).state_dict().items()}
    return _read_tensors(path, shapes)


def read_softmax(path: Path, *, vocab_size: int, projection_dim: int) -> dict[str, Tensor]:
    """Return the softmax's state dict in float32."""
    return _read_tensors(path, {"weight": (vocab_size, projection_dim), "bias": (vocab_size,)})


def _read_tensors(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    try:
        tensors = {key: tensor.float() for key, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path}: cannot be read as safetensors; it may be cut short or damaged ({error})"
        ) from error

    def rules() -> Iterator[Rule]:
        for key, shape in shapes.items():
            yield Rule(
                source=key, shape=shape, targets=(key,), read=lambda t: (t,), write=lambda ts: ts[0]
            )

    return apply_rules(rules(), tensors, where=str(path))


def write_tensors(path: Path, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> None:
    """Write a state dict, rounded to ``dtype``."""
    save_file({key: tensor.to(dtype).contiguous() for key, tensor in tensors.items()}, path)
