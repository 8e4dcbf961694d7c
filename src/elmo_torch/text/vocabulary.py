"""The words of a softmax or of a word table, in file order: specials first, then by falling frequency."""

import codecs
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmo_torch.errors import CheckpointError
from elmo_torch.text.char_ids import BOS_WORD, EOS_WORD

__all__ = ["SPECIAL_WORDS", "UNK_WORD", "Vocabulary"]

UNK_WORD = "<UNK>"
SPECIAL_WORDS = (BOS_WORD, EOS_WORD, UNK_WORD)
_LAST_LINE_MARK = "!!!MAXTERMID"  # a line of some published vocabularies that is no word
_UNWRITABLE = re.compile(rf"{_LAST_LINE_MARK}|.*[\n\ud800-\udfff].*", re.DOTALL)
_MISREAD_FIRST = re.compile("\ufeff|.*\r\\Z", re.DOTALL)  # as byte order mark, as CRLF


class Vocabulary:
    """Words and their ids; the three special words must be among them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) < len(self.words):
            repeated = next(w for i, w in enumerate(self.words) if self._ids[w] != i)
            raise CheckpointError(
                f"the vocabulary holds {repeated!r} twice; each word once, please"
            )
        if unwritable := list(filter(_UNWRITABLE.fullmatch, self.words)):
            raise CheckpointError(
                f"the vocabulary holds {unwritable[0]!r}, which a file of one word a line cannot; "
                "leave it out"
            )
        if _MISREAD_FIRST.match(first := "".join(self.words[:1])):
            raise CheckpointError(
                f"the vocabulary begins with {first!r}, which a file would show as another word; "
                "put a special word first"
            )
        missing = [word for word in SPECIAL_WORDS if word not in self._ids]
        if missing:
            raise CheckpointError(
                f"the vocabulary lacks {', '.join(missing)}; put the lines {' '.join(SPECIAL_WORDS)} first"
            )
        self.bos, self.eos, self.unk = (self._ids[word] for word in SPECIAL_WORDS)

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the words' ids, (types,); words outside the vocabulary get the id of ``<UNK>``."""
        return np.fromiter((self._ids.get(word, self.unk) for word in words), dtype=np.int64)

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Return the vocabulary of a text file with one word a line; CheckpointError if it is none."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from error
        try:
            text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise CheckpointError(f"{path}: line {line}: not UTF-8; convert the file") from error
        line_end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
        lines = text.removesuffix(line_end).split(line_end)
        try:
            return cls([line for line in lines if line != _LAST_LINE_MARK])
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from error

    def write(self, path: Path) -> None:
        """Write one word a line."""
        path.write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")
