"""Every way to compute that this machine has, one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from elmo_torch.kernels import library, products
from elmo_torch.kernels.library import Method, available
from elmo_torch.kernels.precision import Precision

__all__ = ["EXACT_WAYS", "by", "num_threads", "ways_of"]

EXACT_WAYS = ["FIXED", "AVX512", "AVX2", "GENERIC", "oneDNN", "plain PyTorch"]
_WAYS: dict[Precision, list[str]] = {
    "fp32": EXACT_WAYS,
    "bf16": ["BF16", "oneDNN", "plain PyTorch"],
    "int8": ["INT8", "oneDNN", "plain PyTorch"],
}


def ways_of(precision: Precision) -> list[str]:
    return _WAYS[precision]


@contextmanager
def by(way: str) -> Iterator[None]:
    """Let models that are frozen meanwhile have this way alone; skip where the machine lacks it."""
    method = Method[way] if way in Method.__members__ else None
    if method is not None and not available(method):
        missing = "the compiled kernel" if library.library() is None else "the instructions"
        pytest.skip(f"this machine lacks {missing} for {way}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "available", lambda asked: asked is method)
        if way == "plain PyTorch":
            patch.setattr(products, "onednn_runs", lambda precision: False)
        yield


@contextmanager
def num_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
