"""Text files of every kind are read as the same lines; damaged ones are refused with place and reason."""

import gzip
import importlib
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_torch.errors import InputError
from elmo_torch.text.readers import read_documents, read_lines, read_sentences, split_tokens

_ZST = pytest.param(".zst", marks=pytest.mark.extra("zstd"))


def _zstandard(content: bytes) -> bytes:
    compressed = importlib.import_module("zstandard").ZstdCompressor().compress(content)
    assert isinstance(compressed, bytes)
    return compressed


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".txt": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": _zstandard,
}


def _file(folder: Path, content: bytes, suffix: str = ".txt") -> Path:
    path = folder / f"text{suffix}"
    path.write_bytes(_COMPRESS[suffix](content))
    return path


def _lines(folder: Path, content: bytes) -> list[str]:
    return list(read_lines(_file(folder, content)))


@pytest.mark.parametrize("suffix", [".txt", ".gz", ".xz", _ZST])
def test_a_text_is_the_same_however_it_is_compressed(tmp_path: Path, suffix: str) -> None:
    lines = ["one sentence", "", "caf\u00e9", *map(str, range(100_000))]
    path = _file(tmp_path, "\n".join(lines).encode(), suffix)
    assert list(read_lines(path)) == lines


@pytest.mark.parametrize("suffix", [".gz", ".xz", _ZST])
def test_parts_compressed_one_by_one_are_one_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(_COMPRESS[suffix](b"one\ntw") + _COMPRESS[suffix](b"o\nthree\n"))
    assert list(read_lines(path)) == ["one", "two", "three"]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(b"\xef\xbb\xbfone\r\n\r\ntwo")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert list(read_lines("-")) == ["one", "", "two"]


def test_a_path_may_be_a_str(tmp_path: Path) -> None:
    assert list(read_lines(str(_file(tmp_path, b"one\n")))) == ["one"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one\n\n\ntwo\n\n", ["one", "", "", "two", ""]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\n\r\ntwo\r\n", ["one", "", "two"]),
        (b"one\rtwo\r\r\n", ["one\rtwo\r"]),
        (b"one\r", ["one\r"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", ["one", "\ufefftwo"]),
        (b"\xef\xbb\xbf", [""]),
    ],
    ids=[
        "nothing",
        "one blank line",
        "blank lines",
        "no last line end",
        "CRLF",
        "CR alone is text",
        "CR alone at the end too",
        "byte order mark, of the first line only",
        "byte order mark alone",
    ],
)
def test_lines_end_at_line_feeds_and_blank_ones_keep_their_place(
    tmp_path: Path, content: bytes, lines: list[str]
) -> None:
    assert _lines(tmp_path, content) == lines


def test_a_blank_line_is_a_sentence_without_tokens(tmp_path: Path) -> None:
    path = _file(tmp_path, b"a b\n\n \t \nc\n")
    assert list(read_sentences(path)) == [["a", "b"], [], [], ["c"]]


def test_tokens_are_parted_by_runs_of_spaces_and_tabs() -> None:
    assert split_tokens("  a\tb \t c  ") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x01", "\x0b", "\x0c", "\r", "\x1c", "\x85", "\u00a0", "\u2028", "\u2029", "\u3000"],
)
def test_control_characters_and_unicode_spaces_part_neither_lines_nor_tokens(
    tmp_path: Path, character: str
) -> None:
    token = f"a{character}b"
    path = _file(tmp_path, f"{token} c\n".encode())
    assert list(read_sentences(path)) == [[token, "c"]]


@given(st.lists(st.text(st.characters(exclude_characters=" \t"), min_size=1)))
def test_any_tokens_joined_by_spaces_are_parted_again(tokens: list[str]) -> None:
    assert split_tokens(" ".join(tokens)) == tokens


def test_a_line_of_a_million_characters_is_one_line(tmp_path: Path) -> None:
    line = "word " * 200_000
    assert _lines(tmp_path, f"a\n{line}\nb\n".encode()) == ["a", line, "b"]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"\xff", "line 1, byte 1"),
        (b"good\ncaf\xe9 bad\n", "line 2, byte 4"),
        ("caf\u00e9 ".encode() + b"\xc3\n", "line 1, byte 7"),
        (b"\xef\xbb\xbfab\xff\n", "line 1, byte 6"),
        (b"a\n\xed\xa0\x80\n", "line 2, byte 1"),
        ("utf-16".encode("utf-16"), "line 1, byte 1"),
    ],
    ids=["at once", "Latin-1", "cut character", "after a byte order mark", "surrogate", "UTF-16"],
)
def test_bytes_that_are_not_utf8_are_named_by_line_and_byte(
    tmp_path: Path, content: bytes, place: str
) -> None:
    with pytest.raises(InputError, match=rf"text\.txt: {place}: not UTF-8; .*--errors replace"):
        _lines(tmp_path, content)


def test_lines_before_a_bad_one_are_given_first(tmp_path: Path) -> None:
    lines = read_lines(_file(tmp_path, b"good\n\xff\n"))
    assert next(lines) == "good"
    with pytest.raises(InputError):
        next(lines)


def test_errors_replace_reads_on_past_bad_bytes(tmp_path: Path) -> None:
    path = _file(tmp_path, b"caf\xe9 b\n\xff\nc\n")
    assert list(read_sentences(path, errors="replace")) == [["caf\ufffd", "b"], ["\ufffd"], ["c"]]


@pytest.mark.parametrize("suffix", [".gz", ".xz", _ZST])
@pytest.mark.parametrize("kept", [0.5, 0.999])
def test_a_truncated_compressed_file_is_an_error_not_a_short_text(
    tmp_path: Path, suffix: str, kept: float
) -> None:
    path = _file(tmp_path, "\n".join(map(str, range(100_000))).encode(), suffix)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(InputError, match=rf"text\{suffix}: cannot be read to its end: "):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_compressed_file_without_a_byte_is_an_error_not_an_empty_text(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"text{suffix}"
    path.touch()
    with pytest.raises(InputError, match=rf"text\{suffix}: holds nothing, not even a \{suffix} "):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", _ZST])
def test_no_cut_of_a_compressed_file_passes_for_a_whole_one(tmp_path: Path, suffix: str) -> None:
    path = _file(tmp_path, b"one\ntwo\nthree\n", suffix)
    content = path.read_bytes()
    for kept in range(len(content)):
        path.write_bytes(content[:kept])
        with pytest.raises(InputError):
            list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", _ZST])
def test_a_file_that_is_not_what_its_name_says_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"plain text, not compressed\n")
    with pytest.raises(InputError, match=rf"text\{suffix}: cannot be read to its end: "):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", _ZST])
def test_damage_inside_a_compressed_file_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = _file(tmp_path, "\n".join(map(str, range(100_000))).encode(), suffix)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read to its end: "):
        list(read_lines(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.txt: No such file"):
        list(read_lines(tmp_path / "absent.txt"))


def test_a_path_through_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"text\.txt/more: "):
        list(read_lines(_file(tmp_path, b"a\n") / "more"))


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; give a text file"):
        list(read_lines(tmp_path))


def test_a_file_that_may_not_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    path = _file(tmp_path, b"a\n")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"text\.txt: Permission denied"):
        list(read_lines(path))


def test_documents_are_runs_of_sentences_between_blank_lines(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes(b"\n\na b\nc\n\n \nd\n")
    two.write_bytes(b"e\n")
    assert list(read_documents([one, two])) == [[["a", "b"], ["c"]], [["d"]], [["e"]]]


def test_lines_are_read_as_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(b"one\n" * 100_000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    next(read_lines("-"))
    assert content.tell() < 100_000  # of 400,000 bytes


def test_an_unknown_way_with_bad_bytes_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="strict or replace; got 'ignore'"):
        read_lines(tmp_path / "missing.txt", errors="ignore")  # type: ignore[arg-type]  # wrong on purpose
