"""Running text becomes the sentences and tokens that a reader of the Penn Treebank expects."""

import itertools
import random
import re
from typing import Any

import pytest

from elmo_torch.text import raw
from elmo_torch.text.english_tokens import english_tokenizer
from elmo_torch.text.raw import raw_sentences

pytestmark = pytest.mark.extra("raw")


def _sentences(text: str) -> list[str]:
    """Return sentences as one would write them in a file: tokens between spaces."""
    return [" ".join(sentence) for sentence in raw_sentences(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Rain fell, then stopped.", "Rain fell , then stopped ."),
        ("Why not?", "Why not ?"),
        ('He said "yes" (twice); nobody [else] did!', 'He said " yes " ( twice ) ; nobody [ else ] did !'),
        ("\u201cWell,\u201d she said.", '" Well , " she said .'),
        ("I don't, can't and won't.", "I do n't , ca n't and wo n't ."),
        ("It's theirs; they've said we'll, I'd and I'm.", "It 's theirs ; they 've said we 'll , I 'd and I 'm ."),
        ("DON'T! IT'S HOT", "DO N'T ! IT 'S HOT"),
        ("I'd've come.", "I 'd 've come ."),
        ("We cannot; you're gonna, I wanna.", "We can not ; you 're gon na , I wan na ."),
        ("'Tis late, 'twas early.", "'T is late , 't was early ."),
        ("Anna\u2019s dog and the dogs\u2019 bowls", "Anna 's dog and the dogs ' bowls"),
        ("the U.S.'s share", "the U.S. 's share"),
        ("Give 'em the '70s; it's one o'clock, O'Neil.", "Give 'em the '70s ; it 's one o'clock , O'Neil ."),
        ("a well-known, twenty-year-old rule", "a well-known , twenty-year-old rule"),
        ("pre- and post-war", "pre - and post-war"),
        ("He came\u2014late\u2014and left -- at once - so.", "He came -- late -- and left -- at once - so ."),
        ("pages 5\u201310 of 1990-1995", "pages 5-10 of 1990-1995"),
        ("3,000,000 at 21:30 on 9/11/2001, 1.5 to 2:1.", "3,000,000 at 21:30 on 9/11/2001 , 1.5 to 2:1 ."),
        ("one,two:three", "one , two : three"),
        ("$5.50, \u00a33m, 50% and 20\u00b0C", "$ 5.50 , \u00a3 3m , 50 % and 20 \u00b0 C"),
        ("the 20th of the 1980s, 10km, 5 km\u00b2", "the 20th of the 1980s , 10km , 5 km\u00b2"),
        ("Mr. Smith, Dr. No and St. Ives etc.", "Mr. Smith , Dr. No and St. Ives etc."),
        ("J. R. R. Tolkien vs. H.G. Wells, Ph.D.", "J. R. R. Tolkien vs. H.G. Wells , Ph.D."),
        ("at 5 p.m. (i.e., soon; e.g. now)", "at 5 p.m. ( i.e. , soon ; e.g. now )"),
        ("He lives in the U.S.", "He lives in the U.S."),
        ("See No. 5, Vol. 2, pp. 10.", "See No. 5 , Vol. 2 , pp. 10 ."),
        ("see https://a.example/b?c=d&e=f#g, or (www.example.org/).", "see https://a.example/b?c=d&e=f#g , or ( www.example.org/ ) ."),
        ("write to first.last@mail.example.org.", "write to first.last@mail.example.org ."),
        ("his/her and/or TCP/IP", "his/her and/or TCP/IP"),
        ("AT&T, R&B & more", "AT&T , R&B & more"),
        ("call os.path or __init__ of setup.py.", "call os.path or __init__ of setup.py ."),
        ("a=b+c, #1 <x> *y*", "a = b + c , # 1 < x > * y *"),
        ("Well... so.... Hm", "Well ... so .... Hm"),
        ("No way!! Really?!", "No way ! ! Really ? !"),
        ("na\u00efve caf\u00e9, \u0928\u092e\u0938\u094d\u0924\u0947!", "na\u00efve caf\u00e9 , \u0928\u092e\u0938\u094d\u0924\u0947 !"),
        ("good \U0001f600\U0001f44d", "good \U0001f600 \U0001f44d"),
    ],
)  # fmt: skip
def test_tokens_are_as_in_the_corpus(text: str, tokens: str) -> None:
    assert " ".join(itertools.chain(*raw_sentences([text]))) == tokens


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We left.", ["It rained .", "We left ."]),
        ("Why? Because! 5 came.", ["Why ?", "Because !", "5 came ."]),
        ("Mr. Smith met J. K. Rowling in the U.S. last May.", ["Mr. Smith met J. K. Rowling in the U.S. last May ."]),
        ("It cost 3.5 or so. Not 4.", ["It cost 3.5 or so .", "Not 4 ."]),
        ('"Stop!" he cried.', ['" Stop ! " he cried .']),
        ('He said "no." She left.', ['He said " no . "', "She left ."]),
        ('She left. "Why?" he asked.', ["She left .", '" Why ? " he asked .']),
        ("He left (at 5.) (She had not.) So.", ["He left ( at 5 . )", "( She had not . )", "So ."]),
        ("World War I. The end.", ["World War I .", "The end ."]),
        ("No. 5 is it? No. I said No.", ["No. 5 is it ?", "No .", "I said No ."]),
        ("Use foo.Bar here. 'Tis so.", ["Use foo.Bar here .", "'T is so ."]),
        ("Yes. \u4e2d\u6587", ["Yes .", "\u4e2d\u6587"]),
        ("no end", ["no end"]),
        ("...", ["..."]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences_end_before_a_capital_or_a_digit(text: str, sentences: list[str]) -> None:
    assert _sentences(text) == sentences


def test_lines_of_a_paragraph_are_one_text() -> None:
    assert _sentences("It rained\nall day. We\nleft.") == ["It rained all day .", "We left ."]


@pytest.mark.parametrize("blank", ["", "  \t", "\u00a0", "\u200b"])
def test_a_blank_line_ends_the_sentence(blank: str) -> None:
    assert _sentences(f"{blank}\nA heading\n{blank}\n{blank}\nand text\n{blank}") == [
        "A heading",
        "and text",
    ]


def test_tokens_that_are_parted_already_stay_as_they_are() -> None:
    line = "\" It 's 5 % , is n't it , \" said Mr. Smith ( of the U.S. ) ; he 'll say ..."
    assert _sentences(line) == [line]


def test_no_character_is_lost_or_added_but_spaces() -> None:
    generator = random.Random(7)
    alphabet = "ab AZ.,'\"-n't019:/()$%&_@\u00e9\u0947\u4e2d!?\n"
    for _ in range(300):
        letters = "".join(generator.choices(alphabet, k=generator.randrange(40)))
        text = re.sub("''+", "'", letters)  # two would be a double quote
        tokens = itertools.chain(*raw_sentences(text.split("\n")))
        assert "".join(tokens) == "".join(text.split())


def test_a_paragraph_of_a_million_characters_is_cut_between_sentences() -> None:
    sentence = "The quick brown fox, as ever, jumps over the lazy dog."
    text = " ".join([sentence] * 20_000)
    assert len(text) > 1_000_000
    assert (
        _sentences(text) == ["The quick brown fox , as ever , jumps over the lazy dog ."] * 20_000
    )


def test_a_paragraph_without_a_full_stop_is_cut_between_words() -> None:
    tokens = list(itertools.chain(*raw_sentences(["word other"] * 30_000)))
    assert tokens == ["word", "other"] * 30_000


@pytest.mark.parametrize("unit", ["x", "-", "'s", "a,", '"'])
def test_a_million_characters_without_a_space_pass(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    tokens = list(itertools.chain(*raw_sentences([text])))
    assert "".join(tokens) == text


def test_sentences_of_an_endless_text_come_while_it_is_read() -> None:
    sentences = raw_sentences(itertools.cycle(["One here. Two there.", ""]))
    first = [" ".join(sentence) for sentence in itertools.islice(sentences, 3)]
    assert first == ["One here .", "Two there .", "One here ."]


def test_words_remembered_do_not_grow_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"Word{number} is new." for number in range(3_000)]
    expected = list(raw_sentences(lines))
    made = []

    def make() -> Any:
        made.append(english_tokenizer())
        return made[-1]

    monkeypatch.setattr(raw, "english_tokenizer", make)
    monkeypatch.setattr(raw, "_MAX_PIECE_CHARS", 500)
    monkeypatch.setattr(raw, "_TOKENIZER_CHARS", 5_000)
    assert list(raw_sentences(lines)) == expected
    assert len(made) > 5
    # A sentence has 13 characters or more and one new word, so that 385 fit in; three others repeat.
    fixed = len(english_tokenizer().vocab) + 3
    assert max(len(tokenizer.vocab) for tokenizer in made) <= 385 + fixed
