"""Running English text to sentences of tokens, as the pre-training corpora are made; needs spaCy.

Lines of a paragraph are one text; a blank line ends the paragraph and the sentence.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from elmo_torch.text.characters import normalise_characters
from elmo_torch.text.english_tokens import english_tokenizer
from elmo_torch.text.readers import Sentence

__all__ = ["raw_sentences"]

_MAX_PIECE_CHARS = 100_000  # of a paragraph, tokenised at once
_WITHOUT_SPACE = re.compile(r"\S{1000}(?=\S)")  # no word; spaCy's time grows with its square
_TOKENIZER_CHARS = 2_000_000  # then a new tokenizer, since one remembers every word it has seen
_ENDS = frozenset(".!?")
_OPENERS = frozenset(('"', "'", "(", "[", "-", "--"))
_CLOSERS = frozenset("\"')]")


def raw_sentences(lines: Iterable[str]) -> Iterator[Sentence]:
    """Yield the sentences of running text, in bounded memory whatever its length.

    What has no space for 1000 characters is cut there.
    """
    tokenizer = english_tokenizer()
    num_chars = 0
    for piece in _pieces(lines):
        num_chars += len(piece)
        if num_chars > _TOKENIZER_CHARS:
            tokenizer, num_chars = english_tokenizer(), len(piece)
        yield from _split_sentences(tokenizer(piece))


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield paragraphs, each on one line; a very long one in pieces that end where a sentence may."""
    paragraph = ""
    for line in lines:
        text = _WITHOUT_SPACE.sub(r"\g<0> ", normalise_characters(line))
        if not text:
            if paragraph:
                yield paragraph
            paragraph = ""
            continue
        paragraph = f"{paragraph} {text}" if paragraph else text
        start = 0
        while len(paragraph) - start > _MAX_PIECE_CHARS:
            end = start + _last_break(paragraph[start : start + _MAX_PIECE_CHARS])
            yield paragraph[start:end].strip()
            start = end
        paragraph = paragraph[start:].lstrip()
    if paragraph:
        yield paragraph


def _last_break(text: str) -> int:
    """Return the end of the last sentence, else of the last word, else of the text."""
    ends = [text.rfind(f"{mark} ") + 1 for mark in _ENDS]
    return max(ends) or text.rfind(" ") + 1 or len(text)


def _split_sentences(doc: Any) -> Iterator[Sentence]:  # noqa: ANN401 - a class of an optional package
    tokens = [token.text for token in doc]
    gaps = [bool(token.whitespace_) for token in doc]  # whether a space follows
    _part_answers(tokens, gaps)
    start = 0
    for end in range(1, len(tokens)):
        if gaps[end - 1] and _ends(tokens, gaps, end) and _begins(tokens, end):
            yield tokens[start:end]
            start = end
    if tokens[start:]:
        yield tokens[start:]


def _part_answers(tokens: list[str], gaps: list[bool]) -> None:
    """Part each "No." that stands before no number: it is a word, not an abbreviation."""
    for place in reversed(range(len(tokens))):
        if tokens[place] == "No." and not "".join(tokens[place + 1 : place + 2])[:1].isdigit():
            tokens[place : place + 1] = ["No", "."]
            gaps[place : place + 1] = [False, gaps[place]]


def _ends(tokens: list[str], gaps: list[bool], end: int) -> bool:
    """Return whether the tokens before ``end`` close with . ! or ?, quotes and brackets aside."""
    last = end - 1
    while last > 0 and tokens[last] in _CLOSERS and not gaps[last - 1]:
        last -= 1
    return _ENDS.issuperset(tokens[last])


def _begins(tokens: list[str], start: int) -> bool:
    """Return whether a capital, a digit or a letter without case comes next, openers aside."""
    while start < len(tokens) - 1 and tokens[start] in _OPENERS:
        start += 1
    first = tokens[start].lstrip("'")[:1]
    return first.isalnum() and not first.islower()
