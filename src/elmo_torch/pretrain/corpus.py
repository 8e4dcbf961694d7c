"""A corpus encoded once: a memory-mapped file of word-type ids, with the places of sentences and documents.

Training reads the ids and never the text; the corpus is not held in memory.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmo_torch.errors import TrainingError
from elmo_torch.text.char_ids import BOS_WORD, EOS_WORD
from elmo_torch.text.vocabulary import SPECIAL_WORDS, UNK_WORD, Vocabulary

__all__ = ["BOS_TYPE", "EOS_TYPE", "EncodedCorpus", "encode_corpus"]

BOS_TYPE, EOS_TYPE = 0, 1  # ids of the boundary tokens among the word types
_FLUSH_TOKENS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class EncodedCorpus:
    """Word types and their ids in reading order; sentence s is ``ids[starts[s]:starts[s + 1]]``."""

    word_types: tuple[str, ...]
    ids: NDArray[np.int32]  # (tokens,) memory-mapped
    sentence_starts: NDArray[np.int64]  # (sentences + 1,)
    document_starts: NDArray[np.int64]  # (documents + 1,) places in sentence_starts

    @classmethod
    def open(cls, folder: Path) -> "EncodedCorpus":
        """Return the corpus that ``encode_corpus`` left in the folder."""
        return cls(
            word_types=tuple(json.loads((folder / "word_types.json").read_text(encoding="utf-8"))),
            ids=np.memmap(folder / "ids.int32", dtype=np.int32, mode="r"),
            sentence_starts=np.load(folder / "sentence_starts.npy"),
            document_starts=np.load(folder / "document_starts.npy"),
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each word type occurs, (types,); BOS and EOS count once a sentence."""
        counts = np.bincount(self.ids, minlength=len(self.word_types)).astype(np.int64)
        counts[[BOS_TYPE, EOS_TYPE]] += len(self.sentence_starts) - 1
        return counts

    def vocabulary(self, size: int) -> Vocabulary:
        """Return the ``size`` most frequent words, specials first, equals in alphabetical order."""
        order = sorted(
            range(len(self.word_types)), key=lambda t: (-self.counts[t], self.word_types[t])
        )
        words = [self.word_types[t] for t in order if self.word_types[t] not in SPECIAL_WORDS]
        return Vocabulary([*SPECIAL_WORDS, *words[: max(size - len(SPECIAL_WORDS), 0)]])

    def document(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return one document's ids and the lengths of its sentences."""
        first, last = self.document_starts[index : index + 2]
        starts = self.sentence_starts[first : last + 1]
        return np.asarray(self.ids[starts[0] : starts[-1]]), np.diff(starts)


def encode_corpus(
    documents: Iterable[Sequence[Sequence[str]]],
    folder: Path,
    *,
    progress: Callable[[int], None] = lambda tokens: None,
) -> EncodedCorpus:
    """Write the encoded documents into the folder; ``progress`` is told of tokens as they pass.

    Sentences without tokens are left out. A corpus without a token is a TrainingError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    type_ids = {BOS_WORD: BOS_TYPE, EOS_WORD: EOS_TYPE, UNK_WORD: 2}
    sentence_starts, document_starts = array("q", [0]), array("q", [0])
    buffer = array("i")
    total = 0
    with (folder / "ids.int32").open("wb") as file:
        for document in documents:
            for sentence in document:
                if not sentence:
                    continue
                buffer.extend(type_ids.setdefault(word, len(type_ids)) for word in sentence)
                total += len(sentence)
                sentence_starts.append(total)
                if len(buffer) >= _FLUSH_TOKENS:
                    buffer.tofile(file)
                    progress(len(buffer))
                    buffer = array("i")
            if len(sentence_starts) - 1 > document_starts[-1]:
                document_starts.append(len(sentence_starts) - 1)
        buffer.tofile(file)
        progress(len(buffer))
    if not total:
        raise TrainingError("the corpus holds no token; is the path right?")
    np.save(folder / "sentence_starts.npy", np.asarray(sentence_starts, dtype=np.int64))
    np.save(folder / "document_starts.npy", np.asarray(document_starts, dtype=np.int64))
    (folder / "word_types.json").write_text(
        json.dumps(list(type_ids), ensure_ascii=False), encoding="utf-8"
    )
    return EncodedCorpus.open(folder)
