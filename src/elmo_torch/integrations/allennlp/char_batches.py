"""Tokenised sentences to the padded char ids that ``Elmo`` reads, 50 a token."""

from collections.abc import Iterable, Iterator
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.sentences import check_sentences

__all__ = ["batch_to_ids", "checked_sentences"]


def batch_to_ids(batch: Iterable[Iterable[str]]) -> Int[Tensor, "batch tokens chars"]:
    """Return the char ids of a batch of sentences; the shorter ones end in zeros.

    ``[]`` gives (0, 0, 50) and ``[[]]`` gives (1, 0, 50). Raises InputError if a token is no str,
    or a sentence is one: AllenNLP would read its characters as tokens.
    """
    spelling = CharIds()
    rows = [torch.from_numpy(spelling.encode(sentence)) for sentence in checked_sentences(batch)]
    if not rows:
        return torch.zeros(0, 0, spelling.max_chars, dtype=torch.int64)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def checked_sentences(batch: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return the sentences as lists; InputError names a token, or a whole sentence, of a wrong kind."""
    sentences = [list(item) if isinstance(item, Iterator) else item for item in batch]
    check_sentences(cast(list[list[str]], sentences))
    return [list(sentence) for sentence in sentences]
