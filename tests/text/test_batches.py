"""Batches within a budget lose nothing and can be put back in order; windows depend on the text alone."""

import itertools
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from elmo_torch.text.batches import token_budget_batches, windows

_LENGTHS = st.lists(st.integers(0, 30), max_size=40)
_BUDGET = st.integers(1, 100)


def _sentences(lengths: list[int]) -> list[list[str]]:
    return [["w"] * length for length in lengths]


@given(_LENGTHS, _BUDGET)
def test_every_sentence_is_in_one_batch(lengths: list[int], budget: int) -> None:
    batches = token_budget_batches(_sentences(lengths), max_batch_tokens=budget)
    assert sorted(itertools.chain(*batches)) == list(range(len(lengths)))


@given(_LENGTHS, _BUDGET)
def test_rows_times_the_longest_with_boundaries_stay_within_the_budget(
    lengths: list[int], budget: int
) -> None:
    for batch in token_budget_batches(_sentences(lengths), max_batch_tokens=budget):
        longest = max(lengths[index] + 2 for index in batch)
        assert len(batch) * longest <= budget or len(batch) == 1


@given(_LENGTHS, _BUDGET)
def test_no_batch_could_take_the_first_sentence_of_the_next(
    lengths: list[int], budget: int
) -> None:
    batches = list(token_budget_batches(_sentences(lengths), max_batch_tokens=budget))
    for batch, _ in itertools.pairwise(batches):
        assert (len(batch) + 1) * (lengths[batch[0]] + 2) > budget


@given(_LENGTHS, _BUDGET)
def test_batches_go_from_long_to_short_and_equals_keep_their_order(
    lengths: list[int], budget: int
) -> None:
    batches = token_budget_batches(_sentences(lengths), max_batch_tokens=budget)
    order = list(itertools.chain(*batches))
    assert [(-lengths[index], index) for index in order] == sorted(
        (-length, index) for index, length in enumerate(lengths)
    )


def test_a_sentence_over_the_budget_is_a_batch_of_its_own() -> None:
    batches = token_budget_batches(_sentences([1, 50, 1]), max_batch_tokens=6)
    assert list(batches) == [[1], [0, 2]]


def test_no_sentences_make_no_batch() -> None:
    assert list(token_budget_batches([], max_batch_tokens=10)) == []


@given(_LENGTHS, st.integers(1, 50))
def test_windows_one_after_another_are_the_text(lengths: list[int], max_tokens: int) -> None:
    sentences = [[str(place)] * length for place, length in enumerate(lengths)]
    assert list(itertools.chain(*windows(sentences, max_tokens=max_tokens))) == sentences


@given(_LENGTHS, st.integers(1, 50))
def test_a_window_closes_with_the_sentence_that_fills_it(
    lengths: list[int], max_tokens: int
) -> None:
    parts = list(windows(_sentences(lengths), max_tokens=max_tokens))
    for window in parts:
        assert window
        assert sum(map(len, window[:-1])) < max_tokens
    for window in parts[:-1]:
        assert sum(map(len, window)) >= max_tokens


@given(_LENGTHS, st.integers(1, 50), st.data())
def test_windows_of_a_text_read_again_from_a_window_on_are_the_same(
    lengths: list[int], max_tokens: int, data: st.DataObject
) -> None:
    whole = list(windows(_sentences(lengths), max_tokens=max_tokens))
    done = data.draw(st.integers(0, len(whole)))
    rest = itertools.chain(*whole[done:])
    assert list(windows(rest, max_tokens=max_tokens)) == whole[done:]


def test_blank_lines_alone_do_not_make_a_window_without_end() -> None:
    endless: Iterator[list[str]] = itertools.repeat([])
    first = next(windows(endless, max_tokens=10))
    assert 0 < len(first) < 100_000


def test_a_window_is_given_before_the_text_is_read_on() -> None:
    read = []

    def text() -> Iterator[list[str]]:
        for number in range(5):
            read.append(number)
            yield ["w", "w"]

    next(windows(text(), max_tokens=4))
    assert read == [0, 1]
