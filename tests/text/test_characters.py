"""Characters that look alike become one, others stay."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_torch.text.characters import normalise_characters


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("\u201cone\u201d \u201elow\u201d \u00abangles\u00bb ``old''", '"one" "low" "angles" "old"'),
        ("\u2018it\u2019s\u2019 \u201alow\u2019", "'it's' 'low'"),
        ("a\u2014b \u2014 c \u2013 d", "a--b -- c -- d"),
        ("1990\u20131995 well\u2010known non\u2011stop \u22125", "1990-1995 well-known non-stop -5"),
        ("wait\u2026", "wait..."),
        ("5\u00a0km\u2009of\u3000road\tand\n more ", "5 km of road and more"),
        ("co\u00adope\u200brate \ufeffhere\u200f", "cooperate here"),
        ("cafe\u0301", "caf\u00e9"),
        ("e\u200b\u0301", "\u00e9"),
        ("a\ud800b", "ab"),
        ("Stra\u00dfe \u4e2d\u6587 \u03b1\u03b2 [x] (y) {z} 5\u20ac", "Stra\u00dfe \u4e2d\u6587 \u03b1\u03b2 [x] (y) {z} 5\u20ac"),
        ("\u2003\u200b\n", ""),
    ],
    ids=[
        "double quotes",
        "single quotes",
        "dashes",
        "hyphens",
        "ellipsis",
        "spaces",
        "no width",
        "NFC",
        "NFC across what has no width",
        "lone surrogate",
        "others stay",
        "nothing left",
    ],
)  # fmt: skip
def test_characters_are_normalised(text: str, normal: str) -> None:
    assert normalise_characters(text) == normal


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_normal_stays_and_is_nfc_without_surrogates_and_double_spaces(text: str) -> None:
    normal = normalise_characters(text)
    assert normalise_characters(normal) == normal
    assert unicodedata.is_normalized("NFC", normal)
    assert normal.encode() == normal.encode("utf-8", "ignore")
    assert normal.split() == [word for word in normal.split(" ") if word]
    assert "  " not in normal
