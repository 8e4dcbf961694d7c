"""The two stacks of recurrent layers: one reads sentences forward, one backward; they share nothing."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from elmo_torch.nn.lstmp import LstmpClips, LstmpLayer

__all__ = ["BiLmState", "BiLstmp", "BiLstmpConfig", "LstmpStack"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLstmpConfig:
    """Sizes of the recurrent layers; the same for both directions."""

    cell_dim: int  # width of the memory
    projection_dim: int  # width of one direction's output; no projection if it equals cell_dim
    num_layers: int = 2  # recurrent layers of one direction (the L of the paper)
    cell_clip: float | None = 3.0  # bound on |memory|; None: off
    proj_clip: float | None = 3.0  # bound on |hidden| after the projection; None: off
    residual: bool = True  # input added to output, from the second layer on

    def __post_init__(self) -> None:
        for name in ("cell_dim", "projection_dim", "num_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.projection_dim > self.cell_dim:
            raise ValueError(
                f"projection_dim ({self.projection_dim}) must not be wider than cell_dim "
                f"({self.cell_dim}): the projection only narrows the memory's output"
            )
        LstmpClips(cell_clip=self.cell_clip, proj_clip=self.proj_clip)  # refuses zero and negative


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLmState:
    """State of all layers after some text; the forward half first, then the backward half."""

    hidden: Float[Tensor, "layers batch dim"]  # width 2 * projection_dim
    memory: Float[Tensor, "layers batch width"]  # width 2 * cell_dim

    def detach(self) -> "BiLmState":
        """Return the same numbers without their history."""
        return BiLmState(hidden=self.hidden.detach(), memory=self.memory.detach())


class LstmpStack(nn.ModuleList):
    """The layers of one direction; from the second on, a layer's input is added to its output."""

    def __init__(self, config: BiLstmpConfig, *, reverse: bool) -> None:
        clips = LstmpClips(cell_clip=config.cell_clip, proj_clip=config.proj_clip)
        super().__init__(
            LstmpLayer(
                input_dim=config.projection_dim,
                cell_dim=config.cell_dim,
                projection_dim=config.projection_dim,
                clips=clips,
            )
            for _ in range(config.num_layers)
        )
        self.residual = config.residual
        self.reverse = reverse

    def forward(
        self,
        inputs: Float[Tensor, "batch tokens proj"],
        hidden: Float[Tensor, "layers batch proj"],
        memory: Float[Tensor, "layers batch cell"],
        *,
        mask: Bool[Tensor, "batch tokens"] | None = None,
        keep: Bool[Tensor, "batch tokens"] | None = None,
        dropout: float = 0.0,
    ) -> tuple[
        list[Float[Tensor, "batch tokens proj"]],
        Float[Tensor, "layers batch proj"],
        Float[Tensor, "layers batch cell"],
    ]:
        """Return each layer's output, and the state of all layers; arguments as LstmpLayer's.

        The state is the recurrence's own, without the residual. ``dropout`` is the share of each
        layer's input set to zero; the residual adds the dropped input, as the ancestors train.
        """
        outputs, hiddens, memories = [], [], []
        for index, layer in enumerate(self):
            if dropout:
                inputs = nn.functional.dropout(inputs, dropout)
            output, last_hidden, last_memory = layer(
                inputs, hidden[index], memory[index], reverse=self.reverse, mask=mask, keep=keep
            )
            inputs = output + inputs if self.residual and index > 0 else output
            outputs.append(inputs)
            hiddens.append(last_hidden)
            memories.append(last_memory)
        return outputs, torch.stack(hiddens), torch.stack(memories)


class BiLstmp(nn.Module):
    """Both stacks over the same token vectors."""

    def __init__(self, config: BiLstmpConfig) -> None:
        super().__init__()
        self.config = config
        self.forward_layers = LstmpStack(config, reverse=False)
        self.backward_layers = LstmpStack(config, reverse=True)

    def stacks(self) -> Iterable[LstmpStack]:
        """Return the forward stack, then the backward stack: the order of the halves of a vector."""
        return self.forward_layers, self.backward_layers

    def zero_state(self, batch: int) -> BiLmState:
        """Return the state before any text."""
        config = self.config
        like = next(self.parameters())
        return BiLmState(
            hidden=like.new_zeros(config.num_layers, batch, 2 * config.projection_dim),
            memory=like.new_zeros(config.num_layers, batch, 2 * config.cell_dim),
        )

    def forward(
        self,
        token_vectors: Float[Tensor, "batch tokens proj"],
        mask: Bool[Tensor, "batch tokens"] | None,
        state: BiLmState,
    ) -> tuple[Float[Tensor, "layers batch tokens dim"], BiLmState]:
        """Return layers 1..L, forward then backward concatenated, and the state after the batch."""
        directions, hiddens, memories = [], [], []
        for stack, hidden, memory in zip(
            self.stacks(), state.hidden.chunk(2, -1), state.memory.chunk(2, -1), strict=True
        ):
            outputs, last_hidden, last_memory = stack(token_vectors, hidden, memory, mask=mask)
            directions.append(torch.stack(outputs))
            hiddens.append(last_hidden)
            memories.append(last_memory)
        after = BiLmState(hidden=torch.cat(hiddens, -1), memory=torch.cat(memories, -1))
        return torch.cat(directions, dim=-1), after
