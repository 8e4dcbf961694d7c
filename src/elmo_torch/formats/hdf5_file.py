"""Making HDF5 files on a disk that may fill up, which the HDF5 library does not survive."""

import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

__all__ = ["BYTES_PER_DATASET", "creating_hdf5"]

BYTES_PER_DATASET = 1024  # more than its header, name and place in the tree of names (about 400)
_BYTES_PER_FILE = 65_536


@contextmanager
def creating_hdf5(path: Path, num_bytes: int) -> Iterator[h5py.File]:
    """Give a new file for about so many bytes; OSError if the disk has not that much space.

    The space is taken beforehand (on Linux), since on a full disk the library cannot close the file
    any more, and later crashes the process. Closing gives back what is left over.
    """
    empty = io.BytesIO()
    h5py.File(empty, "w").close()
    with path.open("wb") as bare:
        bare.write(empty.getvalue())
        bare.flush()
        if sys.platform == "linux":
            os.posix_fallocate(bare.fileno(), 0, num_bytes + _BYTES_PER_FILE)
    try:
        with h5py.File(path, "r+") as file:
            yield file
    except (OSError, RuntimeError) as error:
        # the library's own message has many lines, with the system's number inside
        found = re.search(r"errno = (\d+)", str(error))
        if found:
            raise OSError(int(found[1]), os.strerror(int(found[1]))) from error
        if isinstance(error, OSError):
            raise OSError(errno.EIO, " ".join(str(error).split())) from error
        raise  # of the one who writes, not of the disk
