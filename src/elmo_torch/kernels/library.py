"""The compiled kernel, where this installation has one: it is built with the package if there is a C compiler.

What a processor can do is asked at run time, so one build serves every processor of its kind.
"""

import ctypes
import enum
import functools
import threading
from pathlib import Path

import torch
from torch import Tensor

from elmo_torch.kernels.precision import Precision

__all__ = ["Method", "available", "compiled_method", "library", "scratch"]

_FILE = Path(__file__).with_name("lstmp.kernel")


class Method(enum.IntEnum):
    """A way to compute; the numbers are those of ``csrc/lstmp.h``."""

    GENERIC = 0  # float32 on vectors of 4
    AVX2 = 1  # float32 on vectors of 8
    AVX512 = 2  # float32 on vectors of 16
    FIXED = 3  # float32 in three digits of int8, on tile registers (AMX)
    BF16 = 4  # bfloat16 on tile registers
    INT8 = 5  # int8 on tile registers

    @property
    def lanes(self) -> int:
        """Cells in one block of a packed layer."""
        return {Method.GENERIC: 4, Method.AVX2: 8}.get(self, 16)

    @property
    def on_tiles(self) -> bool:
        """Whether the method works on tile registers."""
        return self >= Method.FIXED


_PREFERRED: dict[Precision, tuple[Method, ...]] = {
    "fp32": (Method.FIXED, Method.AVX512, Method.AVX2, Method.GENERIC),
    "bf16": (Method.BF16,),
    "int8": (Method.INT8,),
}


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernel; None if it was not built or does not load here."""
    try:
        loaded = ctypes.CDLL(str(_FILE))
    except OSError:
        return None
    loaded.elmo_run_layer.restype = None
    loaded.elmo_multiply.restype = None
    return loaded


@functools.cache
def available(method: Method) -> bool:
    """Return whether the kernel is here and this processor can run the method."""
    kernel = library()
    return kernel is not None and bool(kernel.elmo_can(int(method)))


def compiled_method(precision: Precision, *, on_tiles: bool | None = None) -> Method | None:
    """Return the fastest method for a precision on this machine; None: there is none.

    ``on_tiles`` True: only methods on tile registers will do; False: only others.
    """
    for method in _PREFERRED[precision]:
        if available(method) and on_tiles in (None, method.on_tiles):
            return method
    return None


_kept = threading.local()


def scratch(num_bytes: int) -> Tensor:
    """Return this thread's working memory, made larger if needed; its contents mean nothing."""
    kept: Tensor | None = getattr(_kept, "memory", None)
    if kept is None or len(kept) < num_bytes:
        kept = _kept.memory = torch.zeros(num_bytes, dtype=torch.uint8)
    return kept
