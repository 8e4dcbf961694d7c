"""The recurrent layers of a frozen biLM over ragged batches, in bounded memory, both directions at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from elmo_torch.kernels.compiled import CompiledLayer
from elmo_torch.kernels.crew import Crew
from elmo_torch.kernels.library import compiled_method
from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.bilstmp import BiLmState, BiLstmp
from elmo_torch.nn.lstmp import LstmpLayer
from elmo_torch.runtime.ragged import RaggedBatch
from elmo_torch.runtime.selection import LayerSelection
from elmo_torch.runtime.torch_layer import TorchLayer

__all__ = ["FrozenStacks", "RaggedResult"]

# Rows that a layer reads before the next layer reads them: few enough for the gates to stay in the
# cache of a CPU's core, many enough for a GPU to be busy.
_CPU_ROWS, _DEVICE_ROWS = 128, 4096

# Weights of one layer and direction up to which both directions run side by side. Every time step
# reads them all, so two of them have to fit into the cache that the cores share; beyond it the
# directions take turns, all cores on the same weights.
_SIDE_BY_SIDE_BYTES = 16 << 20


class _LayerRun(Protocol):
    """One direction of one recurrent layer in the course of a batch."""

    def read(self, inputs: Tensor, batch_sizes: Sequence[int]) -> Tensor: ...

    def state(self) -> tuple[Tensor, Tensor]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RaggedResult:
    """The chosen layers of all rows of a ragged batch, and the state after it."""

    vectors: Float[Tensor, "kept rows dim"]
    state: BiLmState | None  # None: the run started from zero


class FrozenStacks:
    """Both stacks with their weights laid out for speed."""

    def __init__(self, lstm: BiLstmp, precision: Precision) -> None:
        self.config = lstm.config
        self.device = next(lstm.parameters()).device
        self._stacks = [
            [
                _make_layer(
                    cast(LstmpLayer, layer),
                    residual=stack.residual and index > 0,
                    precision=precision,
                )
                for index, layer in enumerate(stack)
            ]
            for stack in lstm.stacks()
        ]

    def zero_state(self, batch: int) -> BiLmState:
        """Return the state before any text."""
        config = self.config
        return BiLmState(
            hidden=torch.zeros(
                config.num_layers, batch, 2 * config.projection_dim, device=self.device
            ),
            memory=torch.zeros(config.num_layers, batch, 2 * config.cell_dim, device=self.device),
        )

    def run(
        self,
        types: Float[Tensor, "types proj"],
        rows: Int[Tensor, " rows"],
        batch: RaggedBatch,
        selection: LayerSelection,
        state: BiLmState | None,
        crew: Crew,
    ) -> RaggedResult:
        """Return the chosen layers of a batch whose row r is of the type ``rows[r]``.

        Layers that nothing asks for are not computed; a given ``state`` asks for all of them.
        """
        num_recurrent = self.config.num_layers
        if state is None and selection.kept is not None:
            num_recurrent = max(selection.kept)
        proj = self.config.projection_dim
        num_kept = 1 if selection.kept is None else len(selection.kept)
        vectors = torch.empty(num_kept, len(rows), 2 * proj, device=self.device)
        order = torch.from_numpy(batch.order).to(self.device)
        before = self.zero_state(len(order)) if state is None else state
        hiddens, memories = before.hidden[:, order], before.memory[:, order]
        max_rows = _CPU_ROWS if self.device.type == "cpu" else _DEVICE_ROWS

        def run_direction(direction: int, crew: Crew) -> list[_LayerRun]:
            layers = self._stacks[direction][:num_recurrent]
            runs: list[_LayerRun] = [
                layer.start(
                    hidden.chunk(2, -1)[direction],
                    memory.chunk(2, -1)[direction],
                    reverse=direction == 1,
                    crew=crew,
                )
                for layer, hidden, memory in zip(layers, hiddens, memories, strict=False)
            ]
            width = self._stacks[direction][0].width
            table = F.pad(types, (0, width - proj)) if width > proj else types
            half = vectors[:, :, direction * proj : (direction + 1) * proj]
            ranges = batch.ranges(max_rows)
            for part in reversed(ranges) if direction == 1 else ranges:
                outputs = [table.index_select(0, rows[part.rows])]
                for run in runs:
                    outputs.append(run.read(outputs[-1], part.batch_sizes))
                _keep([output[:, :proj] for output in outputs], selection, half[:, part.rows])
            return runs

        if self._stacks[0][0].num_bytes <= _SIDE_BY_SIDE_BYTES:
            ends = crew.in_halves(run_direction)
        else:
            ends = run_direction(0, crew), run_direction(1, crew)
        if state is None:
            return RaggedResult(vectors=vectors, state=None)
        back = torch.argsort(order)
        forward, backward = ([run.state() for run in runs] for runs in ends)
        hidden, memory = (
            torch.stack(
                [torch.cat([f[k], b[k]], -1) for f, b in zip(forward, backward, strict=True)]
            )
            for k in (0, 1)
        )
        after = BiLmState(hidden=hidden[:, back], memory=memory[:, back])
        return RaggedResult(vectors=vectors, state=after)


def _keep(
    layers: list[Tensor], selection: LayerSelection, to: Float[Tensor, "kept rows proj"]
) -> None:
    """Write the chosen layers of some rows, or their average."""
    if selection.kept is not None:
        for place, number in zip(to, selection.kept, strict=True):
            place.copy_(layers[number])
        return
    torch.add(layers[0], layers[1], out=(total := torch.empty_like(layers[0])))
    for layer in layers[2:]:
        total += layer
    torch.div(total, len(layers), out=total)
    to[0] = total


def _make_layer(
    layer: LstmpLayer, *, residual: bool, precision: Precision
) -> CompiledLayer | TorchLayer:
    method = None
    if layer.bias.device.type == "cpu":
        # the kernel's methods on tiles narrow what a projection reads, so they need one
        method = compiled_method(precision, on_tiles=None if layer.w_proj is not None else False)
    if method is None:
        return TorchLayer(layer, residual=residual, precision=precision)
    return CompiledLayer(
        w_input=layer.w_input.detach(),
        w_hidden=layer.w_hidden.detach(),
        bias=layer.run_bias().detach(),
        w_proj=None if layer.w_proj is None else layer.w_proj.detach(),
        cell_clip=layer.clips.cell_clip,
        proj_clip=layer.clips.proj_clip,
        residual=residual,
        method=method,
    )
