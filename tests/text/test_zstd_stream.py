"""A .zst stream gives the bytes of all frames, in whatever pieces they are asked for."""

import importlib
import io
import random

import pytest

from elmo_torch.text.zstd_stream import ZstdStream

pytestmark = pytest.mark.extra("zstd")

_SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"  # a frame for other programs, without text
_TEXT = random.Random(3).randbytes(100_000)


def _compress(content: bytes) -> bytes:
    compressed = importlib.import_module("zstandard").ZstdCompressor().compress(content)
    assert isinstance(compressed, bytes)
    return compressed


@pytest.mark.parametrize("num_bytes", [1, 7, 65_536])
def test_pieces_of_any_size_are_the_whole(num_bytes: int) -> None:
    stream = ZstdStream(io.BytesIO(_compress(_TEXT)))
    assert b"".join(iter(lambda: stream.read(num_bytes), b"")) == _TEXT


def test_frames_are_read_one_after_another_and_skippable_ones_skipped() -> None:
    frames = _SKIPPABLE + _compress(b"one") + _compress(b"") + _SKIPPABLE + _compress(_TEXT)
    assert ZstdStream(io.BytesIO(frames)).read() == b"one" + _TEXT


def test_an_empty_file_is_an_empty_text() -> None:
    assert ZstdStream(io.BytesIO()).read() == b""


@pytest.mark.parametrize("missing", [1, 4, 50_000])
def test_a_frame_cut_short_is_an_error(missing: int) -> None:
    stream = ZstdStream(io.BytesIO(_compress(b"whole") + _compress(_TEXT)[:-missing]))
    with pytest.raises(EOFError, match="the last frame is not whole"):
        stream.read()


def test_bytes_after_the_last_frame_are_an_error() -> None:
    with pytest.raises(OSError, match="zstd"):
        ZstdStream(io.BytesIO(_compress(b"whole") + b"and more")).read()
