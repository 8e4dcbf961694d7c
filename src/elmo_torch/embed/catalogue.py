"""Models by name: those that ship with the package, else a path."""

from importlib import resources
from pathlib import Path

from elmo_torch.errors import CheckpointError

__all__ = ["BUNDLED_MODELS", "DEFAULT_MODEL", "find_model"]

DEFAULT_MODEL = "mini-en"
BUNDLED_MODELS = {"mini-en": "mini_en"}  # name: folder in elmo_torch.models


def find_model(name_or_path: str | Path) -> Path | tuple[Path, Path]:
    """Return where a model lies: a bundled name, a path, or OPTIONS,WEIGHTS as two paths."""
    text = str(name_or_path)
    if text in BUNDLED_MODELS:
        return Path(str(resources.files("elmo_torch.models") / BUNDLED_MODELS[text]))
    path = Path(name_or_path)
    if path.exists():
        return path
    first, comma, second = text.partition(",")
    if comma and Path(first).exists() and Path(second).exists():
        return Path(first), Path(second)
    raise CheckpointError(
        f"{text}: no such model; known names: {', '.join(BUNDLED_MODELS)}; or give a path to a "
        "folder, an archive or a weights file, or OPTIONS,WEIGHTS"
    )
