"""Char ids: bytes, marks, the shift, and what AllenNLP makes of the same words."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from elmo_torch.text.char_ids import BOS_WORD, EOS_WORD, CharIds
from tests.helpers import read_json
from tests.shared_data import shared

_MAX_CHARS = 11  # so that 9 bytes are kept
_BOW, _EOW, _PAD = 259, 260, 261
_ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # surrogates too


def _row(word: str, max_chars: int = _MAX_CHARS) -> list[int]:
    return [int(char) for char in CharIds(max_chars).encode([word])[0]]


def _padded(*ids: int) -> list[int]:
    return [*ids] + [_PAD] * (_MAX_CHARS - len(ids))


def test_a_word_is_its_bytes_plus_one_between_the_marks_and_word_padding() -> None:
    assert _row("ab") == _padded(_BOW, ord("a") + 1, ord("b") + 1, _EOW)


def test_a_character_beyond_ascii_is_several_bytes() -> None:
    assert _row("\u4e2d") == _padded(_BOW, 0xE4 + 1, 0xB8 + 1, 0xAD + 1, _EOW)


def test_sentence_padding_zero_is_no_id_of_a_word() -> None:
    assert _row("\0") == _padded(_BOW, 1, _EOW)
    assert _row("a\0\0") == _padded(_BOW, ord("a") + 1, 1, 1, _EOW)


def test_the_boundary_words_are_one_special_byte_each() -> None:
    assert _row(BOS_WORD) == _padded(_BOW, 257, _EOW)
    assert _row(EOS_WORD) == _padded(_BOW, 258, _EOW)
    assert CharIds(_MAX_CHARS).boundaries().tolist() == [_row(BOS_WORD), _row(EOS_WORD)]


def test_the_unknown_word_and_boundaries_in_other_case_are_spelled_out() -> None:
    for word in ("<UNK>", "<s>", "</s>", "<S> "):
        assert _row(word) == _padded(_BOW, *(byte + 1 for byte in word.encode()), _EOW)


def test_the_empty_string_is_a_word_of_two_marks() -> None:
    assert _row("") == _padded(_BOW, _EOW)


def test_a_lone_surrogate_has_no_bytes() -> None:
    assert _row("a\ud800b") == _row("ab")
    assert _row("\udfff") == _row("")


@pytest.mark.parametrize("num_bytes", [8, 9, 10])
def test_max_chars_minus_two_bytes_are_kept(num_bytes: int) -> None:
    kept = [ord("a") + 1] * min(num_bytes, 9)
    assert _row("a" * num_bytes) == _padded(_BOW, *kept, _EOW)


def test_truncation_cuts_inside_a_character() -> None:
    assert _row("aaaaaaaa\u00e9") == [_BOW, *[ord("a") + 1] * 8, 0xC3 + 1, _EOW]


def test_surrogates_do_not_count_towards_truncation() -> None:
    assert _row("\ud800" * 20 + "ab") == _row("ab")


def test_a_word_of_a_million_characters_is_its_first_bytes() -> None:
    assert _row("xy" * 500_000, 50) == _row("xy" * 24, 50)


def test_no_words_give_no_rows_of_full_width() -> None:
    assert CharIds(_MAX_CHARS).encode([]).shape == (0, _MAX_CHARS)


@pytest.mark.parametrize("max_chars", [2, 0, -1])
def test_a_width_without_room_for_a_byte_is_refused(max_chars: int) -> None:
    with pytest.raises(ValueError, match=f"max_chars must be 3 or more.*got {max_chars}"):
        CharIds(max_chars)


@given(st.lists(_ANY_TEXT.filter(lambda word: word not in (BOS_WORD, EOS_WORD)), max_size=5))
def test_ids_of_any_words_are_those_of_the_definition(words: list[str]) -> None:
    ids = CharIds(_MAX_CHARS).encode(words)
    assert ids.dtype == np.int64
    for row, word in zip(ids.tolist(), words, strict=True):
        spelling = [byte + 1 for byte in word.encode("utf-8", "ignore")[: _MAX_CHARS - 2]]
        assert row == ([_BOW, *spelling, _EOW] + _MAX_CHARS * [_PAD])[:_MAX_CHARS]


@pytest.mark.parametrize("model", ["tiny", "tiny_clippy", "tiny_1hw_tanh"])
def test_ids_are_those_of_allennlp(model: str) -> None:
    inputs = read_json(shared("fixtures/golden/inputs_A.json"))
    assert isinstance(inputs, dict)
    with h5py.File(shared(f"fixtures/golden/allennlp_{model}.h5")) as file:
        numbers = inputs["scenarios"]["stateless_b8"]["batches"][0]
        expected: NDArray[np.int16] = file["mix/char_ids"][:]  # (batch, tokens, chars)
    assert len(expected) == len(numbers) == 8
    for rows, number in zip(expected, numbers, strict=True):
        sentence = inputs["sentences"][number]
        np.testing.assert_array_equal(CharIds(50).encode(sentence), rows[: len(sentence)])
        assert not rows[len(sentence) :].any()
