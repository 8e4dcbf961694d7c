"""Archives of models: ``.zip`` and ``.tar.gz`` opened into a folder that goes away afterwards.

An archive comes from strangers: members that leave the folder, links, and sizes that no model
has are refused before anything is unpacked.
"""

import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from elmo_torch.errors import CheckpointError

__all__ = ["is_archive", "unpacked"]

_SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar")
MAX_UNPACKED_BYTES = 16 << 30  # the largest published model, with its softmax, has 2 GB
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, NotImplementedError)


def is_archive(path: Path) -> bool:
    """Return whether the name is an archive's."""
    return path.name.endswith(_SUFFIXES)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Give a temporary folder with the archive's files; CheckpointError if they are not safe or whole."""
    with tempfile.TemporaryDirectory(prefix="elmo-torch-") as temporary:
        folder = Path(temporary)
        try:
            if path.name.endswith(".zip"):
                _unpack_zip(path, folder)
            else:
                _unpack_tar(path, folder)
        except _DAMAGED as error:
            raise CheckpointError(
                f"{path}: this archive is damaged or cut short ({error}); fetch it again"
            ) from error
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be unpacked: {error}") from error
        yield folder


def _unpack_zip(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
            _check_member(path, member.filename, is_plain=not is_link)
        _check_size(path, sum(member.file_size for member in members))
        archive.extractall(folder)


def _unpack_tar(path: Path, folder: Path) -> None:
    with tarfile.open(path) as archive:
        members, size = [], 0
        for member in archive:
            _check_member(path, member.name, is_plain=member.isfile() or member.isdir())
            size += member.size
            _check_size(path, size)
            members.append(member)
        archive.extractall(folder, members=members, filter="data")


def _check_member(path: Path, name: str, *, is_plain: bool) -> None:
    if not is_plain:
        raise CheckpointError(
            f"{path}: holds {name}, a link or device; an archive of a model has files only"
        )
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts:
        raise CheckpointError(
            f"{path}: holds {name}, a path outside of the archive; it is not opened"
        )


def _check_size(path: Path, size: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        raise CheckpointError(
            f"{path}: would unpack to {size / 1e9:.0f} GB or more, which no ELMo model has; it is not opened"
        )
