"""``.parquet``: one row a token, for data frames; needs the extra ``arrow``.

Columns ``sentence``, ``position`` and ``token``, then ``vector``, or ``layer_J`` for each layer J.
A blank line has no rows: the numbers in ``sentence`` go on after it.
"""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from elmo_torch._optional import require
from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files.layout import VectorsLayout

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

__all__ = ["ParquetFormat", "require_arrow"]


def require_arrow() -> tuple[ModuleType, ModuleType]:
    """Return the modules pyarrow and pyarrow.parquet; MissingExtraError if they are not there."""
    return require("pyarrow", extra="arrow"), require("pyarrow.parquet", extra="arrow")


class ParquetFormat:
    """A part is a file with one row group; merging writes one row group a part."""

    def __init__(self, layout: VectorsLayout) -> None:
        self._layout = layout
        self._arrow, self._parquet = require_arrow()
        arrow = self._arrow
        numbers = arrow.float32() if layout.dtype == "float32" else arrow.float16()
        self._schema = arrow.schema(
            [
                ("sentence", arrow.int64()),
                ("position", arrow.int32()),
                ("token", arrow.string()),
                *((name, arrow.list_(numbers, layout.dim)) for name in self._vector_columns()),
            ]
        )

    def write_part(
        self, path: Path, first_sentence: int, results: Sequence[Representations]
    ) -> None:
        """Write the rows of one window."""
        with self._creating(path) as file:
            self._write_row_group(file, self._table(first_sentence, results))

    def merge(self, parts: Sequence[Path], path: Path) -> None:
        """Write the rows of all parts, one part at a time in memory."""
        with self._creating(path) as file:
            for part in parts:
                with self._parquet.ParquetFile(part) as piece:
                    self._write_row_group(file, piece.read())

    def _vector_columns(self) -> list[str]:
        names = self._layout.layer_names
        return ["vector"] if names is None else [f"layer_{name}" for name in names]

    def _table(self, first_sentence: int, results: Sequence[Representations]) -> "pyarrow.Table":
        lengths = [len(result) for result in results]
        layers = np.concatenate([self._layout.values(result) for result in results], axis=-2)
        columns = layers.reshape(len(self._vector_columns()), -1)
        arrow = self._arrow
        return arrow.table(
            [
                np.repeat(np.arange(first_sentence, first_sentence + len(results)), lengths),
                np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
                arrow.array(
                    [token for result in results for token in result.tokens], arrow.string()
                ),
                *(
                    arrow.FixedSizeListArray.from_arrays(arrow.array(column), self._layout.dim)
                    for column in columns
                ),
            ],
            schema=self._schema,
        )

    def _creating(self, path: Path) -> "pyarrow.parquet.ParquetWriter":
        return self._parquet.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=["sentence", "token"],  # vectors seldom repeat
        )

    def _write_row_group(
        self, file: "pyarrow.parquet.ParquetWriter", table: "pyarrow.Table"
    ) -> None:
        file.write_table(table, row_group_size=max(1, len(table)))
