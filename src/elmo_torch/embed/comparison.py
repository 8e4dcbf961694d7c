"""One word in several sentences: the cosines of its vectors, layer by layer."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elmo_torch.embed.embedder import Embedder
from elmo_torch.errors import InputError

__all__ = ["PairComparison", "compare_word"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairComparison:
    """The word in two of the sentences (counted from 0)."""

    first: int
    second: int
    cosines: tuple[float, ...]  # one a layer, from the token layer up


def compare_word(
    embedder: Embedder, sentences: Sequence[Sequence[str]], word: str
) -> list[PairComparison]:
    """Return the comparison of every pair of sentences, by the word's first place in each.

    Raises InputError if there are fewer than two sentences, or one lacks the word.
    """
    if len(sentences) < 2:
        raise InputError("a comparison needs two sentences; write each in quotes")
    for number, sentence in enumerate(sentences, start=1):
        if word not in sentence:
            raise InputError(
                f"sentence {number} has no token {word!r}; its tokens are: {' '.join(sentence)} "
                "(tokens are parted by spaces, punctuation too)"
            )
    results = embedder.embed(sentences)
    vectors = np.stack(
        [
            result.vectors[:, sentence.index(word)]
            for result, sentence in zip(results, sentences, strict=True)
        ]
    )  # (sentences, layers, dim)
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return [
        PairComparison(
            first=first,
            second=second,
            cosines=tuple(float(c) for c in (units[first] * units[second]).sum(axis=-1)),
        )
        for first, second in itertools.combinations(range(len(sentences)), 2)
    ]
