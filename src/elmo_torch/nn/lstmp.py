"""The recurrent layer of the biLM: an LSTM whose output is projected, with two clips (LSTMP).

The memory cell is wide (4096) and its output is projected down (512). Both are clipped,
which ``nn.LSTM(proj_size=...)`` cannot do, so published weights need this layer.
Gates are packed in PyTorch's order: input, forget, candidate, output. The stored bias lacks
the 1.0 that TensorFlow adds to the forget gate at run time; it is added here, at run time too.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["FORGET_BIAS", "LstmpClips", "LstmpLayer", "lstmp_step"]

FORGET_BIAS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LstmpClips:
    """Bounds that keep the recurrence stable; the defaults are the published models'."""

    cell_clip: float | None = 3.0  # bound on |memory|, before the output gate; None: off
    proj_clip: float | None = 3.0  # bound on |hidden|, after the projection; None: off

    def __post_init__(self) -> None:
        for name in ("cell_clip", "proj_clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, or None for no clip; got {value}")


def lstmp_step(
    memory: Float[Tensor, "batch cell"],
    gates: Float[Tensor, "batch 4*cell"],
    w_proj: Float[Tensor, "proj cell"] | None,
    clips: LstmpClips,
) -> tuple[Float[Tensor, "batch proj"], Float[Tensor, "batch cell"]]:
    """Return the next hidden state and memory from the summed gate pre-activations.

    Without a projection the hidden state is as wide as the memory, and ``proj_clip`` does not apply.
    """
    i, f, g, o = gates.chunk(4, dim=-1)  # each (batch, cell)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    if clips.cell_clip is not None:
        memory = memory.clamp(-clips.cell_clip, clips.cell_clip)
    hidden = o.sigmoid() * memory.tanh()
    if w_proj is not None:
        hidden = F.linear(hidden, w_proj)  # (batch, proj)
        if clips.proj_clip is not None:
            hidden = hidden.clamp(-clips.proj_clip, clips.proj_clip)
    return hidden, memory


class LstmpLayer(nn.Module):
    """One direction of one recurrent layer, over whole sentences."""

    def __init__(
        self, *, input_dim: int, cell_dim: int, projection_dim: int, clips: LstmpClips
    ) -> None:
        super().__init__()
        self.clips = clips
        self.w_input = nn.Parameter(torch.empty(4 * cell_dim, input_dim))
        self.w_hidden = nn.Parameter(torch.empty(4 * cell_dim, projection_dim))
        self.bias = nn.Parameter(torch.zeros(4 * cell_dim))
        self.w_proj = (
            nn.Parameter(torch.empty(projection_dim, cell_dim))
            if projection_dim < cell_dim
            else None
        )
        for weight in (self.w_input, self.w_hidden, self.w_proj):
            if weight is not None:
                nn.init.xavier_uniform_(weight)

    def run_bias(self) -> Float[Tensor, " gates"]:
        """Return the bias that the gates get: the stored one, and FORGET_BIAS more for the forget gate."""
        cell_dim = len(self.bias) // 4
        return self.bias + F.pad(
            self.bias.new_full((cell_dim,), FORGET_BIAS), (cell_dim, 2 * cell_dim)
        )

    def forward(
        self,
        inputs: Float[Tensor, "batch tokens width"],
        hidden: Float[Tensor, "batch proj"],
        memory: Float[Tensor, "batch cell"],
        *,
        reverse: bool = False,
        mask: Bool[Tensor, "batch tokens"] | None = None,
        keep: Bool[Tensor, "batch tokens"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch tokens proj"], Float[Tensor, "batch proj"], Float[Tensor, "batch cell"]
    ]:
        """Return the outputs and the state after the last real token that was read.

        ``reverse`` reads from the last token to the first. Where ``mask`` is False the state passes
        unchanged and the output is zero, so a reversed run starts at each sentence's own end.
        Where ``keep`` is False the state is set to zero before the token is read.
        """
        num_tokens = inputs.shape[1]
        # The input's share of the gates does not depend on the recurrence: one product for all steps.
        input_gates = F.linear(inputs.transpose(0, 1), self.w_input, self.run_bias()).unbind()
        outputs: list[Tensor] = [hidden] * num_tokens
        for step in reversed(range(num_tokens)) if reverse else range(num_tokens):
            if keep is not None:
                kept = keep[:, step, None]
                hidden, memory = hidden * kept, memory * kept
            gates = input_gates[step] + F.linear(hidden, self.w_hidden)
            next_hidden, next_memory = lstmp_step(memory, gates, self.w_proj, self.clips)
            if mask is None:
                hidden, memory, outputs[step] = next_hidden, next_memory, next_hidden
            else:
                real = mask[:, step, None]
                hidden = torch.where(real, next_hidden, hidden)
                memory = torch.where(real, next_memory, memory)
                outputs[step] = next_hidden * real
        return torch.stack(outputs, dim=1), hidden, memory
