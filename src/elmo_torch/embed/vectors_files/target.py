"""Where vectors go: the writer that belongs to a file's name."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from elmo_torch.embed.vectors_files.hdf5 import Hdf5Format
from elmo_torch.embed.vectors_files.json_lines import JsonLinesFormat, StandardOutputWriter
from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.embed.vectors_files.npz import NpzWriter
from elmo_torch.embed.vectors_files.parquet import ParquetFormat, require_arrow
from elmo_torch.embed.vectors_files.parts import PartsFormat, PartsWriter
from elmo_torch.embed.vectors_files.writer import VectorsWriter
from elmo_torch.errors import OutputError

__all__ = ["check_target", "open_writer"]

_IN_PARTS: dict[str, Callable[[VectorsLayout], PartsFormat]] = {
    ".h5": Hdf5Format,
    ".hdf5": Hdf5Format,
    ".parquet": ParquetFormat,
    ".jsonl": JsonLinesFormat,
}
_STANDARD_OUTPUT = "-"


def check_target(target: Path | str) -> None:
    """Raise before any work: OutputError if the file cannot be made there or its suffix is unknown.

    MissingExtraError if the format needs a package that is not installed.
    """
    if str(target) == _STANDARD_OUTPUT:
        return
    path = Path(target)
    suffix = path.suffix.lower()
    if suffix not in (*_IN_PARTS, ".npz"):
        known = " ".join((*_IN_PARTS, ".npz"))
        raise OutputError(
            f"{path}: the suffix must say the format, one of {known}; "
            f"{_STANDARD_OUTPUT} writes JSON lines to standard output"
        )
    if suffix == ".parquet":
        require_arrow()
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: the folder {path.parent} cannot be written to")


def open_writer(
    target: Path | str, layout: VectorsLayout, *, settings: Mapping[str, object], resume: bool
) -> VectorsWriter:
    """Return the writer for ``target``: a path, or ``-`` for JSON lines on standard output.

    ``settings`` say what makes the vectors what they are: a run is resumed with the same ones only.
    Raises OutputError if it has others, if the place cannot be written, or if ``resume`` is asked
    of a target that is written in one go.
    """
    check_target(target)
    if str(target) == _STANDARD_OUTPUT:
        _refuse(resume, "standard output")
        return StandardOutputWriter(layout)
    path = Path(target)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        _refuse(resume, str(path))
        return NpzWriter(path, layout)
    return PartsWriter(path, layout, _IN_PARTS[suffix], settings=settings, resume=resume)


def _refuse(resume: bool, place: str) -> None:
    if resume:
        raise OutputError(
            f"{place}: is written in one go and cannot be resumed; {' '.join(_IN_PARTS)} can"
        )
