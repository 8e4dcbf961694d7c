"""The mix of layers that a task learns: ``gamma * sum_j s_j h_j`` with ``s = softmax(w)`` (paper, equation 1).

The optional normalisation is ELMo's own, not ``nn.LayerNorm``: one mean and one variance over all
real tokens and all features of the batch. With it, a sentence's vectors depend on its batch.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

__all__ = ["LayerNormKind", "ScalarMix", "normalize_layer"]

LayerNormKind = Literal["allennlp", "bilm-tf"]

# What each ancestor adds to the variance: AllenNLP the "tiny value" of float32, bilm-tf 1e-12.
_VARIANCE_EPSILON = {"allennlp": 1e-13, "bilm-tf": 1e-12}


def normalize_layer(
    layer: Float[Tensor, "batch tokens dim"],
    mask: Bool[Tensor, "batch tokens"],
    kind: LayerNormKind,
) -> Float[Tensor, "batch tokens dim"]:
    """Return the layer with mean 0 and variance 1 over all real tokens and features together.

    Padding is shifted and scaled like the rest, so it does not stay zero.
    """
    real = mask[..., None]
    count = mask.sum() * layer.shape[-1]
    mean = (layer * real).sum() / count
    variance = (((layer - mean) * real) ** 2).sum() / count
    return (layer - mean) / (variance + _VARIANCE_EPSILON[kind]).sqrt()


class ScalarMix(nn.Module):
    """One mix: L + 1 weights before softmax, and gamma.

    ``layer_norm`` names the ancestor whose normalisation is applied to every layer first:
    "allennlp" (give it layers with their boundary tokens, as AllenNLP does) or "bilm-tf"
    (give it layers without them).
    """

    def __init__(
        self,
        num_layers: int,
        *,
        weights: Sequence[float] | None = None,
        trainable: bool = True,
        layer_norm: LayerNormKind | None = None,
    ) -> None:
        super().__init__()
        if weights is not None and len(weights) != num_layers:
            raise ValueError(
                f"weights must hold {num_layers} numbers, one a layer; got {len(weights)}"
            )
        if layer_norm is not None and layer_norm not in _VARIANCE_EPSILON:
            raise ValueError(f"layer_norm must be allennlp, bilm-tf or None; got {layer_norm!r}")
        initial = torch.zeros(num_layers) if weights is None else torch.tensor(weights).float()
        self.weights = nn.Parameter(initial, requires_grad=trainable)
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trainable)
        self.layer_norm: LayerNormKind | None = layer_norm

    @property
    def scalars(self) -> Float[Tensor, " layers"]:
        """The weights after softmax; they sum to 1."""
        return self.weights.softmax(dim=0)

    def forward(
        self,
        layers: Float[Tensor, "layers batch tokens dim"],
        mask: Bool[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch tokens dim"]:
        """Return the mixed layers; ``mask`` matters only to the normalisation."""
        if len(layers) != len(self.weights):
            raise ValueError(f"this mix is of {len(self.weights)} layers; got {len(layers)}")
        if self.layer_norm is not None:
            layers = torch.stack([normalize_layer(x, mask, self.layer_norm) for x in layers])
        return self.gamma * torch.einsum("l,lbtd->btd", self.scalars, layers)
