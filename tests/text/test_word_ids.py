"""Word ids are places in the vocabulary plus one, so that 0 is sentence padding."""

from elmo_torch.text.vocabulary import Vocabulary
from elmo_torch.text.word_ids import WordIds

_WORDS = WordIds(Vocabulary(["the", "</S>", "<S>", "<UNK>", "of"]))


def test_ids_are_places_plus_one_and_unknown_words_are_unk() -> None:
    assert _WORDS.encode(["of", "the", "The", "<S>", ""]).tolist() == [5, 1, 4, 3, 4]


def test_boundaries_are_begin_then_end_wherever_they_stand_in_the_file() -> None:
    assert _WORDS.boundaries().tolist() == [3, 2]


def test_no_words_give_no_ids() -> None:
    assert _WORDS.encode([]).shape == (0,)
