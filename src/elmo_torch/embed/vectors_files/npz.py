"""``.npz``: one array a sentence under the number of its line, read by ``numpy.load``."""

import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from numpy.lib import format as npy

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.embed.vectors_files.writer import VectorsWriter, errors_naming

__all__ = ["NpzWriter"]


class NpzWriter(VectorsWriter):
    """Writes array after array: memory holds one sentence, and the archive's list of names."""

    def __init__(self, target: Path, layout: VectorsLayout) -> None:
        self._target = target
        self._layout = layout
        self._partial = target.with_name(target.name + ".partial")
        with errors_naming(target):
            self._archive = zipfile.ZipFile(self._partial, "w")

    def write_part(self, first_sentence: int, results: Sequence[Representations]) -> None:
        """Append one array a sentence."""
        with errors_naming(self._target):
            for number, result in enumerate(results, first_sentence):
                # a ZipInfo of our own has no time of day, so that equal vectors give equal files
                entry = zipfile.ZipInfo(f"{number}.npy")
                with self._archive.open(entry, "w", force_zip64=True) as file:
                    npy.write_array(file, self._layout.values(result), allow_pickle=False)

    def finish(self) -> None:
        """Write the archive's list and give the file its name."""
        with errors_naming(self._target):
            self._archive.close()
            self._partial.replace(self._target)

    def close(self) -> None:
        """Throw away what has not been finished."""
        with suppress(OSError):  # what could not be written is thrown away here
            self._archive.close()
        self._partial.unlink(missing_ok=True)
