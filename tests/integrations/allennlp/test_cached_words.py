import logging

import pytest
import torch
from torch import Tensor

from elmo_torch.integrations.allennlp import Elmo, batch_to_ids
from tests.golden.parity import TOLERANCE
from tests.helpers import PROJ, largest_difference
from tests.integrations.allennlp.pairs import GOLDEN_MIXES, SENTENCES, Pair, golden_mix

PADDING = "@@PADDING@@"


def words_of(sentences: list[list[str]]) -> list[str]:
    return [PADDING, *sorted({word for sentence in sentences for word in sentence})]


def word_ids(sentences: list[list[str]], words: list[str]) -> Tensor:
    rows = [torch.tensor([words.index(word) for word in sentence]).long() for sentence in sentences]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def vectors(elmo: Elmo, ids: Tensor, words: Tensor | None = None) -> Tensor:
    (only,) = elmo(ids, words)["elmo_representations"]
    assert isinstance(only, Tensor)
    return only


@pytest.mark.parametrize("name", GOLDEN_MIXES)
def test_words_of_the_list_have_allennlps_vectors_without_their_spelling(name: str) -> None:
    golden = golden_mix(name)
    words = words_of(golden.sentences)
    elmo = Elmo(
        *golden.pair,
        1,
        do_layer_norm=True,
        keep_sentence_boundaries=True,
        vocab_to_cache=words,
        scalar_mix_parameters=golden.scalar_mix_parameters,
    ).eval()
    with torch.no_grad():
        elmo.get_submodule("scalar_mix_0").get_parameter("gamma").fill_(golden.gamma)
    spelled_wrong = torch.ones_like(golden.char_ids)
    ours = vectors(elmo, spelled_wrong, word_ids(golden.sentences, words))
    assert largest_difference(ours, golden.expected[True, True]) <= TOLERANCE


def test_boundary_words_in_the_list_are_the_boundary_tokens(pair: Pair) -> None:
    words = [PADDING, "</S>", "a", "<S>"]
    sentences = [["<S>", "a"], ["</S>"]]
    elmo = Elmo(*pair, 1, vocab_to_cache=words).eval()
    ids = batch_to_ids(sentences)
    with torch.no_grad():
        looked_up, spelled = vectors(elmo, ids, word_ids(sentences, words)), vectors(elmo, ids)
    # equal sums in another order: float32 at values of about 1 differs by some 1e-7
    assert largest_difference(looked_up, spelled) < 1e-6


@pytest.mark.parametrize("outside", [10**6, 9, -1])
def test_a_batch_with_an_id_outside_of_the_list_is_read_by_its_spelling(
    pair: Pair, outside: int
) -> None:
    words = words_of(SENTENCES)
    assert len(words) == 9
    elmo, ids = Elmo(*pair, 1, vocab_to_cache=words).eval(), batch_to_ids(SENTENCES)
    numbers = word_ids(SENTENCES, words)
    numbers[1, 0] = outside
    assert torch.equal(vectors(elmo, ids, numbers), vectors(elmo, ids))


def test_word_ids_fold_and_unfold_like_char_ids(pair: Pair) -> None:
    words = words_of(SENTENCES)
    elmo = Elmo(*pair, 1, vocab_to_cache=words).eval()
    ids, numbers = batch_to_ids(SENTENCES * 2), word_ids(SENTENCES * 2, words)
    flat = elmo(ids, numbers)
    folded = elmo(ids.view(2, 3, 5, 50), numbers.view(2, 3, 5))
    assert folded["mask"].shape == (2, 3, 5)
    assert folded["elmo_representations"][0].shape == (2, 3, 5, 2 * PROJ)
    assert torch.equal(
        folded["elmo_representations"][0].flatten(0, 1), flat["elmo_representations"][0]
    )


def test_word_ids_without_a_list_are_left_unread_with_a_warning(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    elmo, ids = Elmo(*pair, 1).eval(), batch_to_ids(SENTENCES)
    with caplog.at_level(logging.WARNING):
        ours = vectors(elmo, ids, torch.ones(3, 5, dtype=torch.int64))
    assert "word_inputs are not read" in caplog.text
    assert torch.equal(ours, vectors(elmo, ids))


def test_an_empty_list_of_words_reads_the_spelling(pair: Pair) -> None:
    elmo, ids = Elmo(*pair, 1, vocab_to_cache=[]).eval(), batch_to_ids(SENTENCES)
    numbers = torch.ones(3, 5, dtype=torch.int64)
    assert torch.equal(vectors(elmo, ids, numbers), vectors(elmo, ids))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_table_learns_if_the_bilm_does_and_padding_never(
    pair: Pair, requires_grad: bool
) -> None:
    words = words_of(SENTENCES)
    elmo = Elmo(*pair, 1, vocab_to_cache=words, requires_grad=requires_grad, dropout=0.0)
    ours = vectors(elmo, batch_to_ids(SENTENCES), word_ids(SENTENCES, words))
    torch.autograd.backward(ours.square().sum())
    table = elmo.get_parameter("bilm.words.table")
    assert table.shape == (len(words) + 2, PROJ)
    if requires_grad:
        assert table.grad is not None
        assert not table.grad[0].any()
        assert table.grad[1:].any(dim=1).all()
    else:
        assert table.grad is None
