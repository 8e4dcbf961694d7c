"""The vectors of one sentence, at its own length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32
from numpy import ndarray

from elmo_torch.errors import InputError, LayerOmittedError

__all__ = ["Pooling", "Representations"]

Pooling = Literal["mean", "max"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Representations:
    """The layers of one sentence that a run has kept, boundary tokens left out.

    Layer 0 is the token layer (the char CNN's output, the same in every context, written twice);
    layers 1..L are the recurrent ones, their forward half first.
    """

    tokens: tuple[str, ...]
    vectors: Float32[ndarray, "kept tokens dim"]
    kept: tuple[int, ...] | None  # the layers in ``vectors``; None: it holds the average of all
    num_layers: int  # of the model, token layer included: L + 1

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def dim(self) -> int:
        """Width of a vector: both directions."""
        return int(self.vectors.shape[-1])

    def layer(self, index: int) -> Float32[ndarray, "tokens dim"]:
        """Return layer ``index``, from 0 to L; LayerOmittedError if the run did not keep it."""
        if not 0 <= index < self.num_layers:
            raise InputError(
                f"this model has layers 0 to {self.num_layers - 1}; there is no layer {index}"
            )
        if self.kept is None or index not in self.kept:
            raise LayerOmittedError(
                f"layer {index} was not kept ({self._kept_in_words()}); "
                f'embed with layers="all" or layers=[{index}]'
            )
        layer: ndarray = self.vectors[self.kept.index(index)]
        return layer

    def forward(self, index: int) -> Float32[ndarray, "tokens proj"]:
        """Return the forward half of a layer; of layer 0 the char CNN's vector itself."""
        return self.layer(index)[:, : self.dim // 2]

    def backward(self, index: int) -> Float32[ndarray, "tokens proj"]:
        """Return the backward half of a layer; of layer 0 the same as ``forward(0)``."""
        return self.layer(index)[:, self.dim // 2 :]

    @property
    def top(self) -> Float32[ndarray, "tokens dim"]:
        """Layer L."""
        return self.layer(self.num_layers - 1)

    @property
    def average(self) -> Float32[ndarray, "tokens dim"]:
        """The mean of all layers."""
        average: ndarray = (
            self.vectors[0] if self.kept is None else self._all_layers("average").mean(axis=0)
        )
        return average

    def mix(self, weights: Sequence[float], gamma: float = 1.0) -> Float32[ndarray, "tokens dim"]:
        """Return ``gamma * sum_j softmax(weights)_j layer_j`` (paper, equation 1)."""
        layers = self._all_layers("mix")
        if len(weights) != self.num_layers:
            raise InputError(f"weights must hold {self.num_layers} numbers; got {len(weights)}")
        exponents = np.exp(np.asarray(weights, dtype=np.float64) - np.max(weights))
        scalars = gamma * exponents / exponents.sum()
        mixed: ndarray = np.einsum("l,ltd->td", scalars.astype(np.float32), layers)
        return mixed

    def sentence(self, pooling: Pooling = "mean") -> Float32[ndarray, " dim"]:
        """Return one vector for the sentence: mean or maximum over tokens of the average layer.

        If a single layer was kept, that layer is pooled. A sentence without tokens gives zeros.
        """
        if pooling not in ("mean", "max"):
            raise InputError(f"pooling must be mean or max; got {pooling!r}")
        single = self.kept is not None and len(self.kept) == 1
        tokens = self.vectors[0] if single else self.average
        if not len(tokens):
            return np.zeros(self.dim, dtype=np.float32)
        pooled: ndarray = tokens.mean(axis=0) if pooling == "mean" else tokens.max(axis=0)
        return pooled

    def _all_layers(self, purpose: str) -> Float32[ndarray, "kept tokens dim"]:
        if self.kept is None or sorted(self.kept) != list(range(self.num_layers)):
            raise LayerOmittedError(
                f'{purpose} needs all layers ({self._kept_in_words()}); embed with layers="all"'
            )
        return self.vectors[np.argsort(self.kept)]

    def _kept_in_words(self) -> str:
        if self.kept is None:
            return "only the average was kept"
        return f"kept: {', '.join(map(str, self.kept))}"
