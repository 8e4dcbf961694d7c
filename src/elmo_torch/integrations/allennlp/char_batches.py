"""Tokenised sentences to the padded char ids that ``Elmo`` reads, 50 a token."""

from collections.abc import Iterable

import torch
from jaxtyping import Int
from torch import Tensor, nn

from elmo_torch.errors import InputError
from elmo_torch.text.char_ids import CharIds

__all__ = ["batch_to_ids", "checked_sentences"]


def batch_to_ids(batch: Iterable[Iterable[str]]) -> Int[Tensor, "batch tokens chars"]:
    """Return the char ids of a batch of sentences; the shorter ones end in zeros.

    ``[]`` gives (0, 0, 50) and ``[[]]`` gives (1, 0, 50). Raises InputError if a token is no str.
    """
    spelling = CharIds()
    rows = [torch.from_numpy(spelling.encode(sentence)) for sentence in checked_sentences(batch)]
    if not rows:
        return torch.zeros(0, 0, spelling.max_chars, dtype=torch.int64)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def checked_sentences(batch: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return the sentences as lists; InputError names a token that is no str.

    As in AllenNLP, a sentence is anything that yields tokens: of a str, these are its characters.
    """
    sentences = [list(sentence) for sentence in batch]
    for row, sentence in enumerate(sentences):
        for place, token in enumerate(sentence):
            if not isinstance(token, str):
                raise InputError(
                    f"sentence {row}, token {place}: {token!r} is of type {type(token).__name__}; "
                    "a token must be a str"
                )
    return sentences
