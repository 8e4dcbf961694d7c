import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files import VectorsLayout, open_writer
from elmo_torch.errors import OutputError
from tests.embed.vectors_files.records import (
    ALL_LAYERS,
    DIM,
    ONE_VECTOR,
    SENTENCES,
    results,
    write,
)


def to_standard_output(layout: VectorsLayout, made: list[Representations]) -> bytes:
    bytes_out = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(bytes_out))
        with open_writer("-", layout, settings={}, resume=False) as writer:
            writer.write_part(0, made)
            writer.finish()
        return bytes_out.getvalue()


def strict_json(line: bytes) -> dict[str, list[object]]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    made: dict[str, list[object]] = json.loads(line, parse_constant=refuse)
    return made


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layer_names", [(0, 1, 2), (1,), None])
def test_a_line_holds_the_tokens_and_numbers_that_read_back_to_the_same(
    tmp_path: Path, layer_names: tuple[int, ...] | None, dtype: Literal["float32", "float16"]
) -> None:
    layout = VectorsLayout(layer_names=layer_names, dim=DIM, dtype=dtype)
    write(tmp_path / "v.jsonl", layout)
    lines = (tmp_path / "v.jsonl").read_bytes().splitlines()
    for line, result in zip(lines, results(layout), strict=True):
        record = strict_json(line)
        assert set(record) == {"tokens", "layers"}
        assert tuple(record["tokens"]) == result.tokens
        expected = layout.values(result)
        read: ndarray = np.array(record["layers"]).astype(dtype)
        np.testing.assert_array_equal(read.reshape(expected.shape), expected)


def test_a_blank_line_keeps_its_layers(tmp_path: Path) -> None:
    write(tmp_path / "all.jsonl", ALL_LAYERS)
    write(tmp_path / "one.jsonl", ONE_VECTOR)
    assert SENTENCES[1] == ()
    assert strict_json((tmp_path / "all.jsonl").read_bytes().splitlines()[1])["layers"] == [[]] * 3
    assert strict_json((tmp_path / "one.jsonl").read_bytes().splitlines()[1])["layers"] == []


def test_letters_of_other_scripts_are_written_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "v.jsonl")
    assert "\u6771\u4eac" in (tmp_path / "v.jsonl").read_text(encoding="utf-8")


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_every_float32_reads_back_and_no_decimal_is_longer_than_needed(
    numbers: list[float],
) -> None:
    vectors = np.array(numbers, dtype=np.float32).reshape(1, -1, 1)
    result = Representations(tokens=("a",) * len(numbers), vectors=vectors, kept=None, num_layers=3)
    layout = VectorsLayout(layer_names=None, dim=1, dtype="float32")
    line = to_standard_output(layout, [result])
    read = json.loads(line, parse_float=str)["layers"]
    for (text,), number in zip(read, vectors[0, :, 0], strict=True):
        assert np.float32(text).tobytes() == number.tobytes()  # -0.0 too
        digits = text.lower().split("e")[0].replace(".", "").replace("-", "").strip("0")
        # one digit less is another number
        if len(digits) > 1:
            with np.errstate(over="ignore"):
                shorter = np.float32(f"{float(text):.{len(digits) - 2}e}")
            assert shorter != number


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_json_cannot_hold_is_refused_with_the_sentence(number: float) -> None:
    result = Representations(
        tokens=("a",), vectors=np.full((1, 1, DIM), number, np.float32), kept=None, num_layers=3
    )
    with pytest.raises(OutputError, match=r"sentence 0 .* not finite"):
        to_standard_output(ONE_VECTOR, [result])


def test_standard_output_has_the_lines_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "v.jsonl")
    assert to_standard_output(ALL_LAYERS, results(ALL_LAYERS)) == (
        (tmp_path / "v.jsonl").read_bytes()
    )


def test_standard_output_gets_each_window_at_once(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    with open_writer("-", ALL_LAYERS, settings={}, resume=False) as writer:
        writer.write_part(0, results(ALL_LAYERS)[:1])
        assert capfdbinary.readouterr().out.count(b"\n") == 1
        writer.write_part(1, results(ALL_LAYERS)[1:])
        assert capfdbinary.readouterr().out.count(b"\n") == len(SENTENCES) - 1


def test_a_reader_that_leaves_early_is_told_by_the_system_s_own_error() -> None:
    program = (
        "from tests.embed.vectors_files.records import write\n"
        "import os, sys\n"
        "try:\n    write('-')\n"
        "except BrokenPipeError:\n    sys.stderr.write('left')\n    os._exit(0)\n"
    )
    read, written = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=written,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
            check=False,
        )
    finally:
        os.close(written)
    assert (done.returncode, done.stderr) == (0, b"left")


def test_a_full_disk_behind_standard_output_is_an_error_of_one_line() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.MonkeyPatch.context() as patch:
        text = io.TextIOWrapper(io.BufferedWriter(full))
        patch.setattr("sys.stdout", text)
        with (
            open_writer("-", ALL_LAYERS, settings={}, resume=False) as writer,
            pytest.raises(OutputError, match=r"^standard output: cannot be written: No space left"),
        ):
            writer.write_part(0, results(ALL_LAYERS))
        with pytest.raises(OSError, match="No space left"):
            text.close()
