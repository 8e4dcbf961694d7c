"""``.h5``: the layout of AllenNLP's ``elmo`` command, so that its readers need no change.

One dataset a sentence under the number of its line, neither compressed nor chunked, and
``sentence_to_index``: JSON from a sentence's text to that number. Of equal sentences the last one
is in it, as in AllenNLP's dict; a blank line, which AllenNLP refuses, has a dataset and no text.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.formats.hdf5_file import BYTES_PER_DATASET, creating_hdf5

__all__ = ["Hdf5Format"]

_INDEX = "sentence_to_index"


class Hdf5Format:
    """Parts have the layout of the whole; merging copies dataset after dataset."""

    def __init__(self, layout: VectorsLayout) -> None:
        self._layout = layout

    def write_part(
        self, path: Path, first_sentence: int, results: Sequence[Representations]
    ) -> None:
        """Write the datasets of one window and its share of ``sentence_to_index``."""
        index = {
            " ".join(result.tokens): str(number)
            for number, result in enumerate(results, first_sentence)
            if result.tokens
        }
        item_bytes = np.dtype(self._layout.dtype).itemsize
        num_bytes = sum(result.vectors.size * item_bytes + BYTES_PER_DATASET for result in results)
        with creating_hdf5(path, num_bytes + len(json.dumps(index))) as file:
            for number, result in enumerate(results, first_sentence):
                file[str(number)] = self._layout.values(result)
            _write_index(file, index)

    def merge(self, parts: Sequence[Path], path: Path) -> None:
        """Copy all datasets in the order of the text; only ``sentence_to_index`` is in memory."""
        index: dict[str, str] = {}
        num_bytes = sum(part.stat().st_size for part in parts)
        with creating_hdf5(path, num_bytes) as whole:
            for part in parts:
                with h5py.File(part, "r") as piece:
                    index |= json.loads(piece[_INDEX][0])
                    for key in sorted(set(piece) - {_INDEX}, key=int):
                        piece.copy(key, whole)
            _write_index(whole, index)


def _write_index(file: h5py.File, index: dict[str, str]) -> None:
    file.create_dataset(_INDEX, data=[json.dumps(index)], dtype=h5py.string_dtype())
