"""ELMo: deep contextual word vectors from a bidirectional LSTM language model (Peters et al. 2018).

The names below are imported when first used, so that ``import elmo_torch`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from elmo_torch._version import __version__

if TYPE_CHECKING:
    from elmo_torch.embed.embedder import Embedder
    from elmo_torch.embed.representations import Representations
    from elmo_torch.formats.checkpoint import load_checkpoint
    from elmo_torch.nn.elmo import Elmo
    from elmo_torch.nn.scalar_mix import ScalarMix

__all__ = ["Elmo", "Embedder", "Representations", "ScalarMix", "__version__", "load_checkpoint"]

_HOMES = {
    "Elmo": "elmo_torch.nn.elmo",
    "Embedder": "elmo_torch.embed.embedder",
    "Representations": "elmo_torch.embed.representations",
    "ScalarMix": "elmo_torch.nn.scalar_mix",
    "load_checkpoint": "elmo_torch.formats.checkpoint",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
