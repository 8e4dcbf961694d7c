"""Vocabularies survive the way to disk, and files that are none are refused with their name."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_torch.errors import CheckpointError
from elmo_torch.text.vocabulary import SPECIAL_WORDS, Vocabulary

_SPECIALS = b"<S>\n</S>\n<UNK>\n"


def _read(folder: Path, content: bytes) -> Vocabulary:
    path = folder / "vocab.txt"
    path.write_bytes(content)
    return Vocabulary.read(path)


_WORDS = st.lists(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=5),
    unique=True,
).filter(lambda words: not {*SPECIAL_WORDS, "!!!MAXTERMID"} & set(words))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is written anew
@given(words=_WORDS)
def test_what_is_written_is_read_back_whatever_the_words(tmp_path: Path, words: list[str]) -> None:
    vocabulary = Vocabulary([*SPECIAL_WORDS, *words])
    vocabulary.write(tmp_path / "vocab.txt")
    assert Vocabulary.read(tmp_path / "vocab.txt").words == vocabulary.words


def test_ids_are_places_in_the_file_and_unknown_words_get_that_of_unk(tmp_path: Path) -> None:
    vocabulary = _read(tmp_path, b"the\n" + _SPECIALS + b"of\n")
    assert (vocabulary.bos, vocabulary.eos, vocabulary.unk, len(vocabulary)) == (1, 2, 3, 5)
    assert vocabulary.ids(["of", "The", "the", "<S>", ""]).tolist() == [4, 3, 0, 1, 3]


@pytest.mark.parametrize(
    "content",
    [
        _SPECIALS + b"the",
        _SPECIALS.replace(b"\n", b"\r\n") + b"the\r\n",
        b"\xef\xbb\xbf" + _SPECIALS + b"the\n",
        _SPECIALS + b"the\n!!!MAXTERMID\n",
    ],
    ids=["no last line end", "CRLF", "byte order mark", "!!!MAXTERMID"],
)
def test_files_of_other_programs_are_read(tmp_path: Path, content: bytes) -> None:
    assert _read(tmp_path, content).words == (*SPECIAL_WORDS, "the")


def test_only_line_feeds_part_words(tmp_path: Path) -> None:
    words = ("a\u2028b", "\u00a0", "a\x85", "c\r", " d ", "e\x0c")
    content = _SPECIALS + "".join(f"{word}\n" for word in words).encode()
    assert _read(tmp_path, content).words == (*SPECIAL_WORDS, *words)


def test_a_word_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"vocab\.txt: the vocabulary holds 'the' twice"):
        _read(tmp_path, _SPECIALS + b"the\nof\nthe\n")


def test_missing_special_words_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"vocab\.txt: the vocabulary lacks </S>, <UNK>; put"):
        _read(tmp_path, b"<S>\nthe\n")


def test_an_empty_file_is_no_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="lacks <S>, </S>, <UNK>"):
        _read(tmp_path, b"")


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"vocab\.txt: line 5: not UTF-8"):
        _read(tmp_path, _SPECIALS + b"the\ncaf\xe9\n")


@pytest.mark.parametrize("name", ["absent.txt", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match=str(tmp_path / name)):
        Vocabulary.read(tmp_path / name)


@pytest.mark.parametrize("word", ["two\nlines", "!!!MAXTERMID", "a\udc80b"])
def test_a_word_that_a_file_would_lose_is_refused(word: str) -> None:
    with pytest.raises(CheckpointError, match="which a file of one word a line cannot"):
        Vocabulary([*SPECIAL_WORDS, word])


@pytest.mark.parametrize("word", ["\ufeffthe", "the\r"])
def test_a_word_that_a_file_would_misread_is_refused_in_the_first_place_alone(
    tmp_path: Path, word: str
) -> None:
    with pytest.raises(CheckpointError, match=r"begins with .*; put a special word first"):
        Vocabulary([word, *SPECIAL_WORDS])
    vocabulary = Vocabulary([*SPECIAL_WORDS, word])
    vocabulary.write(tmp_path / "vocab.txt")
    assert Vocabulary.read(tmp_path / "vocab.txt").words == vocabulary.words
