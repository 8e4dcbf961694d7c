"""Streaming readers of text files: plain, .gz, .xz, .zst and standard input; a line is a sentence.

Lines end at LF or CRLF alone, and tokens are parted by spaces and tabs alone, so that any other
character, control characters and Unicode spaces included, can stand inside a token.
"""

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from elmo_torch.errors import InputError
from elmo_torch.text.zstd_stream import ZstdStream

__all__ = [
    "STANDARD_STREAM",
    "DecodeErrors",
    "Sentence",
    "read_documents",
    "read_lines",
    "read_sentences",
    "split_tokens",
]

Sentence = list[str]
DecodeErrors = Literal["strict", "replace"]

STANDARD_STREAM = "-"  # as a path: standard input, or standard output
_BOM = b"\xef\xbb\xbf"
_COMPRESSED = (".gz", ".xz", ".zst")


@contextmanager
def _open(path: Path | str) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a text file")
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    with raw:
        if path.suffix in _COMPRESSED and not raw.peek(1):
            raise InputError(
                f"{path}: holds nothing, not even a {path.suffix} header; make it anew"
            )
        match path.suffix:
            case ".gz":
                yield cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=raw)))
            case ".xz":
                yield cast(BinaryIO, io.BufferedReader(lzma.LZMAFile(raw)))  # noqa: SIM115 - raw is closed here
            case ".zst":
                yield cast(BinaryIO, io.BufferedReader(ZstdStream(raw)))
            case _:
                yield raw


def read_lines(path: Path | str, *, errors: DecodeErrors = "strict") -> Iterator[str]:
    """Yield the lines of a UTF-8 file, or of standard input for "-", without their ends.

    Raises InputError at once for an unknown ``errors``, and while reading if the file is missing,
    damaged or, with ``errors="strict"``, not UTF-8.
    """
    if errors not in get_args(DecodeErrors):
        known = " or ".join(get_args(DecodeErrors))
        raise InputError(f"--errors (errors=) must be {known}; got {errors!r}")
    return _decoded_lines(path, errors)


def _decoded_lines(path: Path | str, errors: DecodeErrors) -> Iterator[str]:
    with _open(path) as file:
        lines = enumerate(file, start=1)
        while True:
            try:
                number, line = next(lines)
            except StopIteration:
                return
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                raise InputError(f"{path}: cannot be read to its end: {error}") from error
            start = len(_BOM) if number == 1 and line.startswith(_BOM) else 0
            end = -2 if line.endswith(b"\r\n") else -1 if line.endswith(b"\n") else None
            line = line[start:end]
            try:
                text = line.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}: line {number}, byte {start + error.start + 1}: not UTF-8; convert "
                    "the file, or read on past such bytes with --errors replace"
                ) from error
            yield text


def split_tokens(line: str) -> Sentence:
    """Return the tokens of a line that is already tokenised."""
    return [token for token in line.replace("\t", " ").split(" ") if token]


def read_sentences(path: Path | str, *, errors: DecodeErrors = "strict") -> Iterator[Sentence]:
    """Yield one sentence a line; a blank line is a sentence without tokens and keeps its place."""
    return map(split_tokens, read_lines(path, errors=errors))


def read_documents(
    paths: Iterable[Path | str], *, errors: DecodeErrors = "strict"
) -> Iterator[list[Sentence]]:
    """Yield the documents of all files: runs of sentences between blank lines."""
    for path in paths:
        document: list[Sentence] = []
        for sentence in read_sentences(path, errors=errors):
            if sentence:
                document.append(sentence)
            elif document:
                yield document
                document = []
        if document:
            yield document
