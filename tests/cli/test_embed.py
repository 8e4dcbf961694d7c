"""``elmo embed`` writes what the library gives, whole or not at all, and refuses bad input in a line."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmo_torch import Embedder
from tests.cli.conftest import Elmo

TEXT = "the bank\n\na steep river bank\nthe bank\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("layers", ["all", "top", "average", "0,2", "1"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_file_holds_the_librarys_vectors(
    elmo: Elmo, model: Path, text: Path, tmp_path: Path, layers: str, dtype: str
) -> None:
    out = tmp_path / "out.h5"
    done = elmo("embed", text, "-o", out, "--model", model, "--layers", layers, "--dtype", dtype)
    assert done.exit_code == 0, done.output
    asked = layers if layers.isalpha() else [int(number) for number in layers.split(",")]
    sentences = [line.split() for line in TEXT.splitlines()]
    expected = Embedder.load(model).embed(sentences, layers=asked)  # type: ignore[arg-type]  # read from the words of a command
    with h5py.File(out) as file:
        assert set(file) == {"0", "1", "2", "3", "sentence_to_index"}
        for index, result in enumerate(expected):
            vectors = result.vectors[0] if layers in ("top", "average") else result.vectors
            assert file[str(index)].dtype == dtype
            np.testing.assert_array_equal(file[str(index)][...], vectors.astype(dtype))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.h5", "text.txt"]
    assert "4 sentences, 8 tokens" in done.stderr


def test_a_pipe_goes_through(elmo: Elmo, model: Path) -> None:
    done = elmo("embed", "-", "-o", "-", "--model", model, "--layers", "top", stdin=TEXT)
    assert done.exit_code == 0
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["tokens"] for record in records] == [line.split() for line in TEXT.splitlines()]
    assert np.shape(records[2]["layers"]) == (4, 10)
    assert records[1]["layers"] == []


@pytest.mark.parametrize(
    "content",
    [
        b"the bank\r\n\r\na steep river bank\r\nthe bank\r\n",
        b"\xef\xbb\xbfthe bank\n\na steep river bank\nthe bank",
        b"the  bank \n \n\ta steep\triver bank\nthe bank\n",
    ],
    ids=["CRLF", "BOM", "spaces"],
)
def test_line_ends_marks_and_spaces_do_not_change_the_vectors(
    elmo: Elmo, model: Path, text: Path, tmp_path: Path, content: bytes
) -> None:
    other = tmp_path / "other.txt.gz"
    other.write_bytes(gzip.compress(content))
    for source, target in ((text, "a.jsonl"), (other, "b.jsonl")):
        assert elmo("embed", source, "-o", tmp_path / target, "--model", model).exit_code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_control_characters_and_long_tokens_are_tokens(
    elmo: Elmo, model: Path, tmp_path: Path
) -> None:
    source = tmp_path / "odd.txt"
    source.write_bytes(b"a\x00b \x07 " + b"x" * 1_000_000 + b"\n\x00\n")
    done = elmo("embed", source, "-o", tmp_path / "o.npz", "--model", model, "--layers", "top")
    assert done.exit_code == 0, done.output
    with np.load(tmp_path / "o.npz") as arrays:
        assert {key: arrays[key].shape for key in ("0", "1")} == {"0": (3, 10), "1": (1, 10)}


def test_bytes_that_are_not_utf8_are_placed_and_can_be_read_past(
    elmo: Elmo, refused: Callable[..., str], model: Path, tmp_path: Path
) -> None:
    source = tmp_path / "latin.txt"
    source.write_bytes(b"fine\nna\xefve\n")
    line = refused("embed", source, "-o", tmp_path / "o.h5", "--model", model)
    assert "line 2, byte 3" in line
    assert "--errors replace" in line
    done = elmo(
        "embed", source, "-o", tmp_path / "o.jsonl", "--model", model, "--errors", "replace"
    )
    assert done.exit_code == 0
    assert "na�ve" in (tmp_path / "o.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.txt", "-o", "{tmp}/o.h5"], "missing.txt: No such file"),
        (["{tmp}", "-o", "{tmp}/o.h5"], "is a folder"),
        (["{text}", "-o", "{tmp}/o.xyz"], ".xyz"),
        (["{text}", "-o", "{tmp}/nowhere/o.h5"], "nowhere"),
        (["{text}", "-o", "/proc/o.h5"], "/proc"),
        (["{text}", "-o", "{tmp}/o.h5", "--layers", "7"], "0 to 2"),
        (["{text}", "-o", "{tmp}/o.h5", "--layers", "best"], "--layers"),
        (["{text}", "-o", "{tmp}/o.h5", "--precision", "fp7"], "precision"),
        (["{text}", "-o", "{tmp}/o.h5", "--device", "warp"], "warp"),
        (["{text}", "-o", "{tmp}/o.h5", "--model", "nothing"], "no such model"),
        (["{text}", "-o", "{tmp}/o.h5", "--errors", "ignore"], "--errors"),
        (["{text}", "-o", "{tmp}/o.npz", "--resume"], "resume"),
        (["{text}", "-o", "-", "--resume"], "resume"),
        (["-", "-o", "{tmp}/o.h5", "--resume"], "pipe"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    refused: Callable[..., str],
    model: Path,
    text: Path,
    tmp_path: Path,
    words: list[str],
    message: str,
) -> None:
    filled = [word.format(tmp=tmp_path, text=text) for word in words]
    if "--model" not in filled:
        filled += ["--model", str(model)]
    assert message in refused("embed", *filled)


def test_the_reader_of_a_pipe_may_leave_early(model: Path, text: Path) -> None:
    text.write_text("the bank of a river\n" * 4000)
    command = f"{sys.executable} -m elmo_torch embed {text} -o - --model {model} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["tokens"] == ["the", "bank", "of", "a", "river"]
    assert done.stderr == ""


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_run_killed_at_some_moment_goes_on_to_the_same_file(
    elmo: Elmo, model: Path, tmp_path: Path, kill: signal.Signals
) -> None:
    source = tmp_path / "long.txt"
    source.write_text("".join(f"the river bank number {n}\n" for n in range(60_000)))
    whole, halves = tmp_path / "whole.jsonl", tmp_path / "halves.jsonl"
    arguments = ["--model", str(model), "--layers", "average"]
    assert elmo("embed", source, "-o", whole, *arguments).exit_code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "elmo_torch", "embed", str(source), "-o", str(halves), *arguments],
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    parts = tmp_path / "halves.jsonl.partial"
    for _ in range(600):
        if list(parts.glob("part-000001*")):
            break
        time.sleep(0.1)
    process.send_signal(kill)
    _, stderr = process.communicate(timeout=60)
    assert not halves.exists(), "the run was over before it could be killed"
    if kill == signal.SIGINT:
        assert process.returncode == 130
        assert stderr.decode().strip().splitlines()[-1].startswith("elmo: interrupted")
    done = elmo("embed", source, "-o", halves, *arguments, "--resume")
    assert done.exit_code == 0, done.output
    assert halves.read_bytes() == whole.read_bytes()
    assert not parts.exists()


def test_a_resume_on_another_text_is_refused(
    elmo: Elmo, refused: Callable[..., str], model: Path, text: Path, tmp_path: Path
) -> None:
    parts = tmp_path / "o.h5.partial"
    other = tmp_path / "other.txt"
    other.write_text(TEXT.replace("river", "rover"))
    script = (
        "import sys; from elmo_torch.embed.vectors_files import parts\n"
        "from elmo_torch.cli.main import main\n"
        "from elmo_torch.embed.embedder import Embedder\n"
        "def stop(*a, **k): raise KeyboardInterrupt\n"
        "Embedder.embed = stop\n"
        f"sys.argv = ['elmo', 'embed', {str(text)!r}, '-o', {str(tmp_path / 'o.h5')!r}, '--model', {str(model)!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 130
    assert parts.is_dir()
    line = refused("embed", other, "-o", tmp_path / "o.h5", "--model", model, "--resume")
    assert "text" in line
