"""Without spaCy the raw mode says what to install."""

import sys

import pytest

from elmo_torch.errors import MissingExtraError
from elmo_torch.text.raw import raw_sentences


def test_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "spacy"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r'"spacy".*pip install "elmo-torch\[raw\]"'):
        next(raw_sentences(["text"]))
