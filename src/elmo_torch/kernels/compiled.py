"""The compiled kernel as objects: a product with packed weights, and one direction of a recurrent layer."""

import ctypes
import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from elmo_torch.kernels.crew import Crew
from elmo_torch.kernels.layouts import Packed, pack_bias, pack_columns, pack_gates, pad_to, padded
from elmo_torch.kernels.library import Method, library, scratch

__all__ = ["CompiledLayer", "CompiledProduct", "CompiledRun"]


class _Product(ctypes.Structure):
    _fields_ = (
        ("width", ctypes.c_int32),
        ("columns", ctypes.c_int32),
        ("weights", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
    )


class _Layer(ctypes.Structure):
    _fields_ = (
        ("input", _Product),
        ("hidden", _Product),
        ("projection", _Product),
        ("cell_clip", ctypes.c_float),
        ("proj_clip", ctypes.c_float),
        ("residual", ctypes.c_int32),
    )


class _Team(ctypes.Structure):
    _fields_ = (
        ("parts", ctypes.c_int32),
        ("arrived", ctypes.c_int32),
        ("round", ctypes.c_int32),
    )


class _Tile(ctypes.Structure):
    _fields_ = (
        ("batch", ctypes.c_int32),
        ("rows", ctypes.c_int32),
        ("steps", ctypes.c_int32),
        ("reverse", ctypes.c_int32),
        ("batch_sizes", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("hidden", ctypes.c_void_p),
        ("memory", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("team", ctypes.c_void_p),
    )


_PANEL = 128  # rows that a product narrows at a time
_SUM_BYTES = 64 * 3 * 4  # of a row and a block of columns, three places
_SPARE = 1 << 17  # bytes for what little the estimates of working memory leave out


def _product(width: int, columns: int, packed: Packed | None, bias: Tensor | None) -> _Product:
    weights, scales = packed if packed is not None else (None, None)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (weights, scales, bias)]
    return _Product(width, columns, *pointers)


class CompiledProduct:
    """``x W^T + bias`` on tile registers."""

    def __init__(
        self,
        weight: Float[Tensor, "columns width"],
        bias: Float[Tensor, " columns"] | None,
        method: Method,
    ) -> None:
        self.method = method
        self.columns, self.width = weight.shape
        self._packed = pack_columns(weight, method)
        full = weight.new_zeros(self.columns) if bias is None else bias
        self._bias = pad_to(full, padded(self.columns)).contiguous()
        self._product = _product(padded(self.width), padded(self.columns), self._packed, self._bias)

    def __call__(
        self, x: Float[Tensor, "rows width"], pool: int = 1
    ) -> Float[Tensor, "pooled columns"]:
        """Return the product; with ``pool``, the largest of every ``pool`` rows in succession."""
        x = pad_to(x, padded(self.width)).contiguous()
        y = torch.empty(len(x) // pool, padded(self.columns))
        kernel = library()
        assert kernel is not None
        assert len(x) % pool == 0
        working = scratch(_PANEL * (padded(self.width) * 4 + _SUM_BYTES) + _SPARE)
        kernel.elmo_multiply(
            int(self.method),
            ctypes.byref(self._product),
            ctypes.c_void_p(x.data_ptr()),
            len(x),
            pool,
            ctypes.c_void_p(y.data_ptr()),
            ctypes.c_void_p(working.data_ptr()),
        )
        return y[:, : self.columns]


class CompiledLayer:
    """One direction of one recurrent layer; a method on tiles needs a projection."""

    def __init__(
        self,
        *,
        w_input: Float[Tensor, "gates proj"],
        w_hidden: Float[Tensor, "gates proj"],
        bias: Float[Tensor, " gates"],
        w_proj: Float[Tensor, "proj cell"] | None,
        cell_clip: float | None,
        proj_clip: float | None,
        residual: bool,
        method: Method,
    ) -> None:
        assert w_proj is not None or not method.on_tiles
        gates, proj = w_hidden.shape
        self.method = method
        self.width = padded(proj)  # of inputs and outputs
        self._cells = padded(gates // 4)
        self._held = (
            pack_gates(w_input, method),
            pack_gates(w_hidden, method),
            None if w_proj is None else pack_columns(w_proj, method),
        )
        self._bias = pack_bias(bias, method)
        input_weights, hidden_weights, projection_weights = self._held
        self._layer = _Layer(
            _product(self.width, 4 * self._cells, input_weights, self._bias),
            _product(self.width, 4 * self._cells, hidden_weights, None),
            _product(self._cells, self.width, projection_weights, None),
            math.inf if cell_clip is None else cell_clip,
            math.inf if proj_clip is None else proj_clip,
            residual,
        )

    def start(
        self,
        hidden: Float[Tensor, "batch proj"],
        memory: Float[Tensor, "batch cell"],
        *,
        reverse: bool,
        crew: Crew,
    ) -> "CompiledRun":
        """Return a run from a state; ``reverse`` takes the last time step first."""
        return CompiledRun(self, hidden, memory, reverse=reverse, crew=crew)

    @property
    def num_bytes(self) -> int:
        """Bytes of the weights that every time step reads; those for the input are read once a tile."""
        return sum(packed[0].nbytes for packed in self._held[1:] if packed is not None)

    def run(self, tile: _Tile, crew: Crew) -> None:
        """Compute the outputs of a tile and bring its state up to date, with all threads of a crew."""
        team = _Team(crew.size)
        working = scratch(self._working_bytes(tile.batch, tile.rows, tile.steps, crew.size))
        tile.scratch, tile.team = working.data_ptr(), ctypes.addressof(team)
        kernel = library()
        assert kernel is not None
        pointers = ctypes.byref(self._layer), ctypes.byref(tile)
        crew.together(lambda part: kernel.elmo_run_layer(int(self.method), *pointers, part))

    def _working_bytes(self, batch: int, rows: int, steps: int, parts: int) -> int:
        """Return an upper bound of what ``csrc`` takes from its scratch space."""
        narrowed = 4 * ((batch + rows + 64) * self.width + (batch + 32) * self._cells)
        wide = (4 + 2) * self._cells * batch
        sums = (_SUM_BYTES * (batch + rows + 64) + 64 * batch) * parts
        shares = 16 * self._cells * rows if steps > 1 else 0
        return narrowed + wide + sums + shares + _SPARE


class CompiledRun:
    """A layer in the course of a ragged batch: its state, as the kernel lays it out."""

    def __init__(
        self,
        layer: CompiledLayer,
        hidden: Float[Tensor, "batch proj"],
        memory: Float[Tensor, "batch cell"],
        *,
        reverse: bool,
        crew: Crew,
    ) -> None:
        self._layer = layer
        self._crew = crew
        self._reverse = reverse
        self._widths = hidden.shape[1], memory.shape[1]
        self._hidden = pad_to(hidden, padded(hidden.shape[1])).clone()
        blocks = pad_to(memory, padded(memory.shape[1])).view(len(memory), -1, layer.method.lanes)
        self._memory = blocks.transpose(0, 1).clone(memory_format=torch.contiguous_format)

    def read(
        self, inputs: Float[Tensor, "rows width"], batch_sizes: Sequence[int]
    ) -> Float[Tensor, "rows width"]:
        """Return the layer's outputs over some time steps of a ragged batch.

        The rows of a step follow those of the step before; step s reads the first
        ``batch_sizes[s]`` sentences.
        """
        outputs = torch.empty_like(inputs)
        sizes = torch.tensor(batch_sizes, dtype=torch.int32)
        offsets = sizes.cumsum(0, dtype=torch.int32) - sizes
        self._layer.run(
            _Tile(
                len(self._hidden),
                len(inputs),
                len(sizes),
                self._reverse,
                sizes.data_ptr(),
                offsets.data_ptr(),
                inputs.data_ptr(),
                outputs.data_ptr(),
                self._hidden.data_ptr(),
                self._memory.data_ptr(),
            ),
            self._crew,
        )
        return outputs

    def state(self) -> tuple[Float[Tensor, "batch proj"], Float[Tensor, "batch cell"]]:
        """Return hidden state and memory in their usual layout."""
        proj, cell = self._widths
        return self._hidden[:, :proj], self._memory.transpose(0, 1).flatten(1)[:, :cell]
