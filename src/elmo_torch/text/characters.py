"""One spelling for characters that text has in many: quotes, dashes, spaces, and what has no width."""

import re
import unicodedata

__all__ = ["normalise_characters"]

_ONE_FOR_MANY = {
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
    "'": "\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u02bc`",
    "-": "\u2010\u2011\u2012\u2212",
    "--": "\u2014\u2015",
    "...": "\u2026",
    "": "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff",
}
_TABLE = {ord(many): one for one, group in _ONE_FOR_MANY.items() for many in group}
_TABLE |= dict.fromkeys(range(0xD800, 0xE000), "")  # lone surrogates

_DASH_IN_WORD = re.compile(r"(?<=\w)\u2013(?=\w)")  # an en dash
_SPACES = re.compile(r"\s+")


def normalise_characters(text: str) -> str:
    """Return the text in NFC with plain quotes, dashes and dots, and single spaces.

    An en dash within a word or a range becomes "-", any other "--", as the em dash does.
    """
    # NFC first, since it turns some characters into quotes; again at the end, since taking out what
    # has no width brings others together
    text = _DASH_IN_WORD.sub("-", unicodedata.normalize("NFC", text)).replace("\u2013", "--")
    text = text.translate(_TABLE).replace("''", '"')
    return unicodedata.normalize("NFC", _SPACES.sub(" ", text)).strip()
