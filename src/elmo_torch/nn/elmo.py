"""ELMo as a task uses it: one biLM, K learned mixes of its layers, dropout on each mix."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from elmo_torch.nn.bilm import BiLm, real_tokens
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.nn.scalar_mix import LayerNormKind, ScalarMix

__all__ = ["Elmo", "ElmoOutput", "add_boundaries", "remove_boundaries"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoOutput:
    """K ELMo vectors a token, the mask that fits them, and the biLM's state after the batch."""

    elmo: list[Float[Tensor, "batch tokens dim"]]
    mask: Bool[Tensor, "batch tokens"]
    state: BiLmState


def add_boundaries(
    ids: Int[Tensor, "batch tokens *chars"], boundary_ids: Int[Tensor, " boundaries *chars"]
) -> Int[Tensor, "batch longer *chars"]:
    """Return the sentences with BOS before the first and EOS after the last real token of each."""
    mask = real_tokens(ids)
    batch = len(ids)
    bos = boundary_ids[0].expand(batch, 1, *ids.shape[2:])
    framed = torch.cat([bos, ids, torch.zeros_like(bos)], dim=1)
    framed[torch.arange(batch, device=ids.device), mask.sum(dim=1) + 1] = boundary_ids[1]
    return framed


def remove_boundaries(
    vectors: Float[Tensor, "*layers batch tokens dim"], mask: Bool[Tensor, "batch tokens"]
) -> tuple[Float[Tensor, "*layers batch shorter dim"], Bool[Tensor, "batch shorter"]]:
    """Return vectors and mask without the BOS and EOS places; what was EOS becomes zero padding."""
    inner = mask[:, 2:]
    return vectors[..., 1:-1, :] * inner[..., None], inner


class Elmo(nn.Module):
    """A biLM with ``num_mixes`` mixes; each starts as the plain mean of the layers.

    ``boundary_ids`` are the ids of BOS and EOS, one row each; ``Checkpoint.boundary_ids`` has them.
    ``freeze_bilm`` and ``train_mix`` are separate: a frozen biLM still learns its mixes.
    """

    boundary_ids: Tensor

    def __init__(
        self,
        bilm: BiLm,
        boundary_ids: Int[Tensor, " boundaries *chars"],
        *,
        num_mixes: int = 1,
        dropout: float = 0.5,
        freeze_bilm: bool = True,
        train_mix: bool = True,
        mix_weights: Sequence[float] | None = None,
        layer_norm: LayerNormKind | None = None,
        keep_boundaries: bool = False,
    ) -> None:
        super().__init__()
        if num_mixes < 1:
            raise ValueError(f"num_mixes must be at least 1; got {num_mixes}")
        self.bilm = bilm.requires_grad_(not freeze_bilm)
        self.register_buffer("boundary_ids", boundary_ids, persistent=False)
        self.mixes = nn.ModuleList(
            ScalarMix(
                bilm.config.num_layers,
                weights=mix_weights,
                trainable=train_mix,
                layer_norm=layer_norm,
            )
            for _ in range(num_mixes)
        )
        self.dropout = nn.Dropout(dropout)
        self.keep_boundaries = keep_boundaries

    def forward(
        self, ids: Int[Tensor, "batch tokens *chars"], state: BiLmState | None = None
    ) -> ElmoOutput:
        """Return the ELMo vectors of sentences given without boundary tokens."""
        output = self.bilm(add_boundaries(ids, self.boundary_ids), state)
        return self.mix(output.layers, output.mask, output.state)

    def mix(
        self,
        layers: Float[Tensor, "layers batch tokens dim"],
        mask: Bool[Tensor, "batch tokens"],
        state: BiLmState,
    ) -> ElmoOutput:
        """Return the ELMo vectors of layers that still hold their boundary tokens."""
        mixed = []
        for mix in self.mixes:
            # bilm-tf takes mean and variance over the tokens alone, AllenNLP over the boundaries too.
            if mix.layer_norm == "bilm-tf" and not self.keep_boundaries:
                vectors = mix(*remove_boundaries(layers, mask))
            else:
                vectors = mix(layers, mask)
                if not self.keep_boundaries:
                    vectors, _ = remove_boundaries(vectors, mask)
            mixed.append(self.dropout(vectors))
        return ElmoOutput(
            elmo=mixed, mask=mask if self.keep_boundaries else mask[:, 2:], state=state
        )
