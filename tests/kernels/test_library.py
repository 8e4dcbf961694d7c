"""The compiled kernel may be missing, or the processor may lack what a method needs."""

from pathlib import Path

import pytest
import torch

from elmo_torch.kernels import library
from elmo_torch.kernels.library import Method, available, compiled_method, scratch
from elmo_torch.kernels.precision import Precision
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers
from elmo_torch.runtime.torch_layer import TorchLayer
from tests.kernels.ways import by
from tests.models import random_checkpoint


@pytest.fixture
def without_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(library, "_FILE", tmp_path / "lstmp.kernel")
    library.library.cache_clear()
    library.available.cache_clear()
    yield
    library.library.cache_clear()
    library.available.cache_clear()


def test_without_the_kernel_there_is_no_method(without_kernel: None) -> None:
    assert library.library() is None
    assert not any(available(method) for method in Method)
    precisions: tuple[Precision, ...] = ("fp32", "bf16", "int8")
    assert all(compiled_method(precision) is None for precision in precisions)


def test_a_file_that_is_no_library_counts_as_none(without_kernel: None, tmp_path: Path) -> None:
    (tmp_path / "lstmp.kernel").write_text("not a library")
    assert library.library() is None


def test_without_the_kernel_models_run_in_pytorch(without_kernel: None) -> None:
    checkpoint = random_checkpoint()
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    assert all(isinstance(layer, TorchLayer) for stack in frozen.stacks._stacks for layer in stack)
    assert frozen.run([["a"]], select_layers("all", 3)).vectors[0].shape == (3, 1, 10)


def test_every_processor_has_the_generic_method() -> None:
    if library.library() is None:
        pytest.skip("this installation has no compiled kernel")
    assert available(Method.GENERIC)
    assert compiled_method("fp32") is not None


@pytest.mark.parametrize("way", ["FIXED", "AVX512", "AVX2", "GENERIC"])
def test_float32_takes_the_method_that_there_is(way: str) -> None:
    method = Method[way]
    with by(way):
        assert compiled_method("fp32") is method
        assert compiled_method("fp32", on_tiles=True) is (method if method.on_tiles else None)
        assert compiled_method("fp32", on_tiles=False) is (None if method.on_tiles else method)
        assert compiled_method("bf16") is None


def test_working_memory_grows_and_is_kept() -> None:
    first = scratch(1000)
    assert len(first) >= 1000
    assert scratch(10) is first
    assert len(scratch(len(first) + 1)) > len(first)
    assert scratch(10).data_ptr() % 64 == 0
    assert torch.equal(scratch(1)[:1] * 0, torch.zeros(1, dtype=torch.uint8))
