"""English words, numbers and punctuation, Penn Treebank-like: spaCy's tokenizer with rules of our own.

Punctuation stands apart; contractions and possessives are parted before the apostrophe or "n't".
Kept whole: words with hyphens, slashes or inner apostrophes, numbers with , . : inside, dotted
names and initials, known abbreviations with their period, addresses of the web and of mail.
"""

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby
from typing import Any

from elmo_torch._optional import require

__all__ = ["english_tokenizer"]

_ABBREVIATIONS = (
    "Mr. Mrs. Ms. Messrs. Dr. Prof. Rev. Hon. St. Ste. Mt. Ft. Jr. Sr. Esq. "
    "Gen. Col. Capt. Lt. Maj. Sgt. Gov. Sen. Rep. Pres. "
    "Inc. Co. Corp. Ltd. Bros. No. Nos. Vol. Vols. vol. vols. pp. "
    "Jan. Feb. Aug. Sept. Sep. Oct. Nov. Dec. "
    "al. approx. c. ca. cf. etc. viz. vs."
)
# Words in two parts where no apostrophe tells where they meet.
_PARTED_WORDS = "can-not gon-na got-ta wan-na gim-me lem-me 't-is 't-was"

_LEFT_OUT = r"'(?:em|[0-9]{2}s?)\b"  # an apostrophe for letters or digits, no quote
_CLITIC = "'(?:[sSdDmM]|ll|LL|re|RE|ve|VE)|n't|N'T"
_WHOLE = "|".join(
    (
        r"(?:https?://|ftp://|www\.)\S*[\w/]",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"(?!I\.)[A-Z\u00c0-\u00de]\.",  # an initial
        r"(?:[^\W\d_]{1,2}\.){2,}",  # U.S. Ph.D. a.k.a.
        _LEFT_OUT,
        _CLITIC,  # a text that is parted already stays so
    )
)


def english_tokenizer() -> Any:  # noqa: ANN401 - a class of an optional package
    """Return a spaCy tokenizer: called with a text, it gives a Doc."""
    mark = f"[{_punctuation_class()}]"
    run = r"--+|\.\.+"
    inner = f"{run}|(?![-.'/&_,:]){mark}|(?<![0-9])[,:]|[,:](?![0-9])"
    whole = re.compile(f"(?:{_WHOLE})$").match
    suffix = re.compile(rf"(?:{run}|(?<=\S)(?:{_CLITIC})|(?!_){mark})$").search
    tokenizer_class = require("spacy.tokenizer", extra="raw").Tokenizer
    return tokenizer_class(
        require("spacy.vocab", extra="raw").Vocab(),
        rules=_special_cases(),
        prefix_search=re.compile(f"(?:{run}|(?!_|{_LEFT_OUT}){mark})").match,
        suffix_search=lambda text: None if whole(text) else suffix(text),
        infix_finditer=re.compile(inner).finditer,
        token_match=whole,
    )


def _special_cases() -> dict[str, list[dict[str, str]]]:
    cases = {word: [word] for word in _ABBREVIATIONS.split()}
    for word in _PARTED_WORDS.split():
        for spelling in (word, word.capitalize(), word.upper(), word.replace("'t", "'T")):
            cases[spelling.replace("-", "")] = spelling.split("-")
    return {word: [{"ORTH": part} for part in parts] for word, parts in cases.items()}


@cache
def _punctuation_class() -> str:
    """Return ranges of punctuation and symbols of all scripts, for brackets; marks are not among them."""
    places = (
        place for place in range(sys.maxunicode + 1) if unicodedata.category(chr(place))[0] in "PS"
    )
    runs = [list(run) for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0])]
    return "".join(f"\\U{run[0][1]:08x}-\\U{run[-1][1]:08x}" for run in runs)
