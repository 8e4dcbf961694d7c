from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from elmo_torch.embed.vectors_files import VectorsLayout, check_target, open_writer
from elmo_torch.errors import MissingExtraError
from tests.embed.vectors_files.records import (
    ALL_LAYERS,
    DIM,
    ONE_VECTOR,
    SENTENCES,
    WINDOWS,
    results,
    write,
)


@pytest.mark.extra("arrow")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layer_names", [(0, 1, 2), (2, 0), (1,), None])
def test_a_file_has_one_row_a_token_with_the_vectors_as_they_are(
    tmp_path: Path, layer_names: tuple[int, ...] | None, dtype: Literal["float32", "float16"]
) -> None:
    import pyarrow
    import pyarrow.parquet

    layout = VectorsLayout(layer_names=layer_names, dim=DIM, dtype=dtype)
    write(tmp_path / "v.parquet", layout)
    table = pyarrow.parquet.ParquetFile(tmp_path / "v.parquet").read()

    numbers = pyarrow.float32() if dtype == "float32" else pyarrow.float16()
    names = ["vector"] if layer_names is None else [f"layer_{name}" for name in layer_names]
    assert table.schema.names == ["sentence", "position", "token", *names]
    assert table.schema.field("sentence").type == pyarrow.int64()
    assert table.schema.field("position").type == pyarrow.int32()
    assert table.schema.field("token").type == pyarrow.string()
    for name in names:
        assert table.schema.field(name).type == pyarrow.list_(numbers, DIM)

    rows = [
        (number, position, token)
        for number, sentence in enumerate(SENTENCES)
        for position, token in enumerate(sentence)
    ]
    columns = (table[name].to_pylist() for name in ("sentence", "position", "token"))
    assert list(zip(*columns, strict=True)) == rows
    for row, name in enumerate(names):
        flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        expected = np.concatenate([result.vectors[row] for result in results(layout)])
        np.testing.assert_array_equal(flat.reshape(-1, DIM), expected.astype(dtype))


@pytest.mark.extra("arrow")
def test_a_part_is_a_row_group(tmp_path: Path) -> None:
    import pyarrow.parquet

    write(tmp_path / "v.parquet")
    metadata = pyarrow.parquet.ParquetFile(tmp_path / "v.parquet").metadata
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [sum(map(len, window)) for window in WINDOWS]


@pytest.mark.extra("arrow")
def test_a_text_without_lines_gives_the_columns_and_no_rows(tmp_path: Path) -> None:
    import pyarrow.parquet

    with open_writer(tmp_path / "v.parquet", ONE_VECTOR, settings={}, resume=False) as writer:
        writer.finish()
    table = pyarrow.parquet.ParquetFile(tmp_path / "v.parquet").read()
    assert table.num_rows == 0
    assert table.schema.names == ["sentence", "position", "token", "vector"]


@pytest.mark.extra("arrow")
def test_a_folder_s_name_with_an_equals_sign_adds_no_column(tmp_path: Path) -> None:
    import pyarrow.parquet

    folder = tmp_path / "lang=en"
    folder.mkdir()
    write(folder / "v.parquet", ALL_LAYERS)
    assert "lang" not in pyarrow.parquet.ParquetFile(folder / "v.parquet").schema_arrow.names


def test_without_pyarrow_the_error_names_the_extra_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pip install "elmo-torch\[arrow\]"'):
        check_target(tmp_path / "v.parquet")
    with pytest.raises(MissingExtraError, match=r'pip install "elmo-torch\[arrow\]"'):
        open_writer(tmp_path / "v.parquet", ALL_LAYERS, settings={}, resume=False)
    assert not list(tmp_path.iterdir())
