import pytest
import torch

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp import batch_to_ids
from tests.integrations.allennlp.pairs import GOLDEN_MIXES, SENTENCES, golden_mix


@pytest.mark.parametrize("name", GOLDEN_MIXES)
def test_char_ids_are_allennlps(name: str) -> None:
    mix = golden_mix(name)
    ids = batch_to_ids(mix.sentences)
    assert ids.dtype == torch.int64
    assert torch.equal(ids, mix.char_ids)


def test_a_shorter_sentence_ends_in_zeros() -> None:
    ids = batch_to_ids(SENTENCES)
    assert ids.shape == (3, 5, 50)
    assert not ids[1, 1:].any()
    assert (ids[2] > 0).all()


def test_sentences_may_be_anything_that_yields_tokens() -> None:
    ids = batch_to_ids(SENTENCES)
    assert torch.equal(batch_to_ids(tuple(map(tuple, SENTENCES))), ids)
    assert torch.equal(batch_to_ids(iter(sentence) for sentence in SENTENCES), ids)


def test_no_sentences_and_no_tokens_have_shapes_of_their_own() -> None:
    assert batch_to_ids([]).shape == (0, 0, 50)
    assert batch_to_ids([[]]).shape == (1, 0, 50)
    assert batch_to_ids([[], ["a"]]).shape == (2, 1, 50)


@pytest.mark.parametrize(("token", "kind"), [(7, "int"), (None, "NoneType"), (b"a", "bytes")])
def test_a_token_that_is_no_str_is_named(token: object, kind: str) -> None:
    with pytest.raises(InputError, match=f"sentence 1, token 2 is .*{kind}"):
        batch_to_ids([["a"], ["a", "b", token]])  # type: ignore[list-item]  # wrong on purpose


def test_a_sentence_that_is_one_str_is_refused_rather_than_read_by_characters() -> None:
    with pytest.raises(InputError, match="sentence 1 is a str; split it"):
        batch_to_ids([["The", "bank"], "The bank"])


@pytest.mark.parametrize("sentence", [None, {"a", "b"}])
def test_a_sentence_without_an_order_of_tokens_is_refused(sentence: object) -> None:
    with pytest.raises(InputError, match=f"sentence 1 is a {type(sentence).__name__}"):
        batch_to_ids([["a"], sentence])  # type: ignore[list-item]  # wrong on purpose
