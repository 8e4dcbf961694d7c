"""One direction of a recurrent layer in PyTorch: the way on devices and precisions without a compiled one."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from elmo_torch.kernels.crew import Crew
from elmo_torch.kernels.precision import Precision
from elmo_torch.kernels.products import make_product
from elmo_torch.nn.lstmp import LstmpLayer, lstmp_step

__all__ = ["TorchLayer", "TorchRun"]


class TorchLayer:
    """The input's share of the gates for many steps in one product, then step by step."""

    num_bytes = 0  # its directions never take turns

    def __init__(self, layer: LstmpLayer, *, residual: bool, precision: Precision) -> None:
        self.width = layer.w_hidden.shape[1]
        self.clips = layer.clips
        self.residual = residual
        self.input = make_product(layer.w_input.detach(), layer.run_bias().detach(), precision)
        self.hidden = make_product(layer.w_hidden.detach(), None, precision)
        self.projection = (
            None if layer.w_proj is None else make_product(layer.w_proj.detach(), None, precision)
        )

    def start(
        self,
        hidden: Float[Tensor, "batch proj"],
        memory: Float[Tensor, "batch cell"],
        *,
        reverse: bool,
        crew: Crew,  # PyTorch has threads of its own
    ) -> "TorchRun":
        """Return a run from a state; ``reverse`` takes the last time step first."""
        return TorchRun(self, hidden, memory, reverse=reverse)


class TorchRun:
    """A layer in the course of a ragged batch."""

    def __init__(
        self,
        layer: TorchLayer,
        hidden: Float[Tensor, "batch proj"],
        memory: Float[Tensor, "batch cell"],
        *,
        reverse: bool,
    ) -> None:
        self._layer = layer
        self._reverse = reverse
        self._hidden = hidden.clone()
        self._memory = memory.clone()

    def read(
        self, inputs: Float[Tensor, "rows width"], batch_sizes: Sequence[int]
    ) -> Float[Tensor, "rows width"]:
        """Return the outputs over some time steps, as ``CompiledRun.read``."""
        layer = self._layer
        shares = torch.split(layer.input(inputs), list(batch_sizes))
        outputs: list[Tensor] = [inputs] * len(shares)
        for step in reversed(range(len(shares))) if self._reverse else range(len(shares)):
            rows = batch_sizes[step]
            gates = shares[step] + layer.hidden(self._hidden[:rows])
            wide, memory = lstmp_step(self._memory[:rows], gates, None, layer.clips)
            outputs[step] = hidden = self._project(wide)
            self._hidden[:rows] = hidden
            self._memory[:rows] = memory
        joined = torch.cat(outputs)
        return joined + inputs if layer.residual else joined

    def state(self) -> tuple[Float[Tensor, "batch proj"], Float[Tensor, "batch cell"]]:
        """Return hidden state and memory."""
        return self._hidden, self._memory

    def _project(self, wide: Float[Tensor, "rows cell"]) -> Float[Tensor, "rows proj"]:
        if self._layer.projection is None:
            return wide
        hidden = self._layer.projection(wide)
        clip = self._layer.clips.proj_clip
        return hidden if clip is None else hidden.clamp(-clip, clip)
