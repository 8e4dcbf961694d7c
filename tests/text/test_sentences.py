"""What is not a list of lists of str is refused by name."""

from collections.abc import Iterable

import numpy as np
import pytest

from elmo_torch.errors import InputError
from elmo_torch.text.sentences import check_sentences


class Word(str):
    """A str of another class, as libraries have them."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("a b", "the sentences are a str; give a list of sentences"),
        (["a b", ["c"]], "sentence 0 is a str; split it into a list of tokens"),
        ([["a"], b"c"], "sentence 1 is a bytes; split it into a list of tokens"),
        ([["a"], 7], "sentence 1 is an int; give a list of tokens"),
        ([["a"], None], "sentence 1 is a NoneType; give a list of tokens"),
        ([{"a", "b"}], "sentence 0 is a set; give a list of tokens"),
        ([{"a": 1}], "sentence 0 is a dict; give a list of tokens"),
        ([(word for word in "ab")], "sentence 0 is a generator; give a list of tokens"),
        (
            [[], [], ["a"], ["b"] * 5 + [7]],
            r"sentence 3, token 5 is an int \(7\); tokens must be str",
        ),
        ([["a", None]], r"sentence 0, token 1 is a NoneType \(None\); tokens must be str"),
        ([["a", b"c"]], r"sentence 0, token 1 is a bytes \(b'c'\); tokens must be str"),
        ([[["a"]]], r"sentence 0, token 0 is a list \(\['a'\]\); tokens must be str"),
    ],
)
def test_the_first_offender_is_named(sentences: Iterable[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_sentences(sentences)


def test_a_long_offender_is_shown_short() -> None:
    with pytest.raises(InputError) as caught:
        check_sentences([[[0] * 10_000]])
    assert len(str(caught.value)) < 150


def test_str_of_any_class_in_any_sequence_passes() -> None:
    check_sentences([])
    check_sentences([[], ["", "a", "\ud800", "<S>"], ("a", Word("b"))])
    check_sentences([np.array(["a", "b"])])
