"""Streams give every token of every document once an epoch, each with its own neighbour as target."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_torch.errors import TrainingError
from elmo_torch.pretrain.corpus import BOS_TYPE, EOS_TYPE, EncodedCorpus, encode_corpus
from elmo_torch.pretrain.streams import NO_TARGET, TokenStreams

DOCUMENTS = [
    [["a", "b", "c"], ["d"]],
    [["e", "a"], [], ["b", "b", "b", "c"]],
    [["f"]],
]


def words_of(corpus: EncodedCorpus, types: np.ndarray) -> list[str]:
    return ["-" if t == NO_TARGET else corpus.word_types[t] for t in types.tolist()]


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    return encode_corpus(DOCUMENTS, tmp_path / "corpus")


def test_one_stream_reads_sentences_forward_and_mirrored(tmp_path: Path) -> None:
    corpus = encode_corpus([DOCUMENTS[0]], tmp_path / "c")
    streams = TokenStreams(corpus, num_streams=1, window_tokens=8, seed=0)
    forward, backward = streams.next_windows()
    assert words_of(corpus, forward.types[0]) == ["<S>", "a", "b", "c", "</S>", "<S>", "d", "</S>"]
    assert words_of(corpus, forward.targets[0]) == ["a", "b", "c", "</S>", "-", "d", "</S>", "-"]
    assert words_of(corpus, backward.types[0]) == ["</S>", "c", "b", "a", "<S>", "</S>", "d", "<S>"]
    assert words_of(corpus, backward.targets[0]) == ["c", "b", "a", "<S>", "-", "d", "<S>", "-"]
    for window in (forward, backward):
        assert window.starts[0].tolist() == [True, *[False] * 4, True, False, False]


def test_an_epoch_holds_every_document_once(corpus: EncodedCorpus) -> None:
    tokens = sum(len(s) + 2 for d in DOCUMENTS for s in d if s)
    streams = TokenStreams(corpus, num_streams=1, window_tokens=tokens, seed=3)
    for _ in range(3):
        window, _ = streams.next_windows()
        counts = np.bincount(window.types[0], minlength=len(corpus.word_types))
        assert counts.tolist() == corpus.counts.tolist()


def test_epochs_come_in_different_orders(corpus: EncodedCorpus) -> None:
    tokens = sum(len(s) + 2 for d in DOCUMENTS for s in d if s)
    streams = TokenStreams(corpus, num_streams=1, window_tokens=tokens, seed=3)
    epochs = {tuple(streams.next_windows()[0].types[0]) for _ in range(12)}
    assert len(epochs) > 1


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 8))
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_a_position_taken_at_any_window_goes_on_the_same(
    corpus: EncodedCorpus, num_streams: int, window_tokens: int, before: int
) -> None:
    whole = TokenStreams(corpus, num_streams=num_streams, window_tokens=window_tokens, seed=5)
    for _ in range(before):
        whole.next_windows()
    resumed = TokenStreams(
        corpus,
        num_streams=num_streams,
        window_tokens=window_tokens,
        seed=5,
        position=whole.position,
    )
    for _ in range(6):
        for left, right in zip(whole.next_windows(), resumed.next_windows(), strict=True):
            assert (left.types == right.types).all()
            assert (left.targets == right.targets).all()
            assert (left.starts == right.starts).all()


def test_counts_count_a_boundary_a_sentence(corpus: EncodedCorpus) -> None:
    by_word = dict(zip(corpus.word_types, corpus.counts.tolist(), strict=True))
    assert by_word == {
        "<S>": 5,
        "</S>": 5,
        "<UNK>": 0,
        "a": 2,
        "b": 4,
        "c": 2,
        "d": 1,
        "e": 1,
        "f": 1,
    }
    assert (corpus.word_types[BOS_TYPE], corpus.word_types[EOS_TYPE]) == ("<S>", "</S>")


def test_a_vocabulary_is_by_frequency_then_alphabet(corpus: EncodedCorpus) -> None:
    assert corpus.vocabulary(6).words == ("<S>", "</S>", "<UNK>", "b", "a", "c")


def test_a_corpus_without_a_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no token"):
        encode_corpus([[[]], []], tmp_path / "empty")
