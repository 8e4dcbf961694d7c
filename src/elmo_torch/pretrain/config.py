"""Settings of a pre-training run, and recipes: TOML files that hold them."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from elmo_torch.errors import TrainingError
from elmo_torch.nn.bilm import BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig

__all__ = ["Recipe", "StateRule", "TrainingConfig", "load_recipe"]

_Config = TypeVar("_Config")

StateRule = Literal["mixed", "carried"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How a biLM is trained; a recipe sets what its model wants otherwise."""

    num_tokens: (
        int  # length of the run: tokens read, boundaries counted, each once for both directions
    )
    vocab_size: int = 50_000  # words of the softmax, specials included
    num_samples: int = 4096  # negative samples a direction and step
    num_streams: int = 128  # rows of the batch
    window_tokens: int = 20  # tokens per truncated back-propagation window
    state: StateRule = "mixed"  # mixed: zero state at half of the sentence starts; carried: never
    learning_rate: float = 2e-3  # peak; AdamW
    lr_warmup_steps: int = 200  # steps of linear rise, then cosine fall to zero
    weight_decay: float = 0.0
    max_grad_norm: float = 10.0  # bound on the global gradient norm
    dropout: float = 0.1  # share of layer inputs and of top outputs set to zero
    precision: Literal["fp32", "bf16"] = "fp32"  # of products; weights and memory stay float32
    save_every_steps: int = 200
    seed: int = 1

    def __post_init__(self) -> None:
        for name in (
            "num_tokens", "vocab_size", "num_samples", "num_streams", "window_tokens", "save_every_steps",
        ):  # fmt: skip
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1; got {getattr(self, name)}")
        for name in ("learning_rate", "max_grad_norm"):
            if not getattr(self, name) > 0:
                raise TrainingError(f"{name} must be above 0; got {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise TrainingError(f"dropout must be at least 0 and below 1; got {self.dropout}")
        for name, known in (("state", ("mixed", "carried")), ("precision", ("fp32", "bf16"))):
            if getattr(self, name) not in known:
                raise TrainingError(
                    f"{name} must be {' or '.join(known)}; got {getattr(self, name)!r}"
                )

    @property
    def tokens_per_step(self) -> int:
        """Tokens of one window over all streams."""
        return self.num_streams * self.window_tokens

    @property
    def num_steps(self) -> int:
        """Optimiser steps of the whole run."""
        return -(-self.num_tokens // self.tokens_per_step)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """A model's sizes and how to train it."""

    model: BiLmConfig
    training: TrainingConfig

    def with_training(self, **changes: object) -> "Recipe":
        """Return the recipe with the given training settings, those that are None left as they are."""
        given = {name: value for name, value in changes.items() if value is not None}
        return Recipe(model=self.model, training=replace(self.training, **given))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain JSON data, for a log or a state file."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def load_recipe(name_or_path: str) -> Recipe:
    """Return a recipe of the package by name, or one from a TOML file."""
    bundled = resources.files("elmo_torch.pretrain") / "recipes" / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if not path.suffix and bundled.is_file():
        text = bundled.read_text(encoding="utf-8")
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TrainingError(
                f"{path}: cannot read this recipe ({error}); give a TOML file, or the name mini-en"
            ) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TrainingError(f"{path}: not TOML: {error}") from error
    model = _section(data, "model", str(path))
    try:
        char_cnn = _build(CharCnnConfig, _filters_as_tuples(_section(model, "char_cnn", str(path))))
        lstm = _build(BiLstmpConfig, _section(model, "lstm", str(path)))
        training = _build(TrainingConfig, _section(data, "training", str(path)))
        return Recipe(model=BiLmConfig(token_encoder=char_cnn, lstm=lstm), training=training)
    except (TypeError, ValueError) as error:
        raise TrainingError(f"{path}: {error}") from error


def _section(data: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    section = data.get(name)
    if not isinstance(section, dict):
        raise TrainingError(f"{where}: the section [{name}] is missing")
    return section


def _filters_as_tuples(section: dict[str, Any]) -> dict[str, Any]:
    if "filters" not in section:
        return section
    return section | {"filters": tuple((width, count) for width, count in section["filters"])}


def _build(kind: type[_Config], section: Mapping[str, Any]) -> _Config:
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(section.keys() - known)
    if unknown:
        raise TrainingError(
            f"unknown key {', '.join(unknown)}; known here: {', '.join(sorted(known))}"
        )
    return kind(**section)
