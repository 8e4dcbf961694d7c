"""A .zst file as a stream of bytes that says so if the file ends early, which zstandard's own reader does not."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from elmo_torch._optional import require

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["ZstdStream"]

_CHUNK_BYTES = 16_384  # compressed; what comes out of one chunk is held in memory


class ZstdStream(io.RawIOBase):
    """What the frames of a file hold, one after another.

    Raises OSError if the file is damaged, EOFError if its last frame is not whole.
    """

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._chunks = _decompress(file)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill the buffer as far as one chunk goes; 0 at the end of the file."""
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        target = memoryview(buffer).cast("B")
        num_bytes = min(len(target), len(self._left))
        target[:num_bytes] = self._left[:num_bytes]
        self._left = self._left[num_bytes:]
        return num_bytes


def _decompress(file: io.BufferedIOBase) -> Iterator[bytes]:
    zstandard = require("zstandard", extra="zstd")
    decompressor = zstandard.ZstdDecompressor()
    frame = None
    while chunk := file.read(_CHUNK_BYTES):
        while chunk:
            frame = frame or decompressor.decompressobj()
            try:
                text = frame.decompress(chunk)
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            yield text
            chunk = frame.unused_data  # of the next frame, where this one has ended
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError("the last frame is not whole")
