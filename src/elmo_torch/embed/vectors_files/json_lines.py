"""``.jsonl``: one object a line, for programs in any language and for pipes.

Numbers are the shortest decimals that read back to the same float32 or float16.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.embed.vectors_files.writer import VectorsWriter, errors_naming
from elmo_torch.errors import OutputError

__all__ = ["JsonLinesFormat", "StandardOutputWriter"]


class JsonLinesFormat:
    """Parts are pieces of the file: joined end to end they are it."""

    def __init__(self, layout: VectorsLayout) -> None:
        self._layout = layout

    def write_part(
        self, path: Path, first_sentence: int, results: Sequence[Representations]
    ) -> None:
        """Write the lines of one window."""
        with path.open("wb") as file:
            file.writelines(_lines(self._layout, first_sentence, results))

    def merge(self, parts: Sequence[Path], path: Path) -> None:
        """Join the parts."""
        with path.open("wb") as whole:
            for part in parts:
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, whole)


class StandardOutputWriter(VectorsWriter):
    """Writes the same lines to standard output; what is out cannot be taken back."""

    def __init__(self, layout: VectorsLayout) -> None:
        self._layout = layout

    def write_part(self, first_sentence: int, results: Sequence[Representations]) -> None:
        """Write the lines of one window and flush, so that a closed pipe is seen."""
        with errors_naming("standard output"):
            sys.stdout.buffer.writelines(_lines(self._layout, first_sentence, results))
            sys.stdout.buffer.flush()

    def finish(self) -> None:
        """Do nothing: every window was flushed."""

    def close(self) -> None:
        """Do nothing: standard output is not ours to close."""


def _lines(
    layout: VectorsLayout, first_sentence: int, results: Sequence[Representations]
) -> Iterator[bytes]:
    for number, result in enumerate(results, first_sentence):
        values = layout.values(result)
        if not np.isfinite(values).all():
            raise OutputError(
                f"sentence {number} has vectors that are not finite, which JSON cannot hold"
            )
        tokens = json.dumps(list(result.tokens), ensure_ascii=False)
        yield f'{{"tokens": {tokens}, "layers": {_nested(values)}}}\n'.encode()


def _nested(values: Float[ndarray, "..."]) -> str:
    # str of a float32 is its own shortest decimal; Python's float would show 17 digits of it
    items = values.astype(str).tolist() if values.ndim == 1 else map(_nested, values)
    return f"[{','.join(items)}]"
