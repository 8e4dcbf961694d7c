"""Which layers a run hands out: each row of the result is a weighted sum of the model's layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from elmo_torch.errors import InputError

__all__ = ["LayerSelection", "Layers", "select_layers"]

Layers = Literal["all", "top", "average"] | Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSelection:
    """A choice of layers for a model of ``num_layers`` (token layer included)."""

    num_layers: int
    kept: tuple[int, ...] | None  # layers handed out as they are; None: their average alone

    @property
    def weights(self) -> Float[Tensor, "kept layers"]:
        """One row a result: the share of every layer in it."""
        if self.kept is None:
            return torch.full((1, self.num_layers), 1 / self.num_layers)
        return torch.eye(self.num_layers)[list(self.kept)]


def select_layers(layers: Layers, num_layers: int) -> LayerSelection:
    """Return the selection that a user's words or numbers mean; InputError if the model lacks one."""
    match layers:
        case "all":
            kept: tuple[int, ...] | None = tuple(range(num_layers))
        case "top":
            kept = (num_layers - 1,)
        case "average":
            kept = None
        case str():
            raise InputError(f"layers must be all, top, average or numbers; got {layers!r}")
        case _:
            kept = tuple(layers)
            wrong = [j for j in kept if not (type(j) is int and 0 <= j < num_layers)]
            if wrong or not kept or len(set(kept)) < len(kept):
                raise InputError(
                    f"layers must be different numbers from 0 to {num_layers - 1}; got {list(kept)}"
                )
    return LayerSelection(num_layers=num_layers, kept=kept)
