"""What a user holds: sentences in, one result each, in order, the same on every call."""

from pathlib import Path

import numpy as np
import pytest

from elmo_torch import Embedder, Representations
from elmo_torch.embed.comparison import compare_word
from elmo_torch.errors import CheckpointError, InputError
from elmo_torch.formats.checkpoint import save_checkpoint
from tests.models import random_checkpoint

SENTENCES = [["the", "bank"], [], ["a", "river", "bank", "is", "steep"], [""], ["the", "bank"]]

# float32 sums in another order, values of order 1
ROUNDING = 1e-5


@pytest.fixture
def embedder() -> Embedder:
    return Embedder(random_checkpoint())


@pytest.fixture
def carrying() -> Embedder:
    return Embedder(random_checkpoint(), carry_state=True)


def assert_equal(left: list[Representations], right: list[Representations]) -> None:
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.tokens == b.tokens
        np.testing.assert_allclose(a.vectors, b.vectors, atol=ROUNDING)


def test_every_sentence_gets_its_own_length(embedder: Embedder) -> None:
    results = embedder.embed(SENTENCES)
    assert [r.vectors.shape for r in results] == [(3, len(s), 10) for s in SENTENCES]
    assert [r.tokens for r in results] == [tuple(s) for s in SENTENCES]
    assert all(r.vectors.dtype == np.float32 for r in results)


def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert embedder.embed([]) == []
    assert list(embedder.embed_stream([])) == []
    assert embedder.embed([[]])[0].vectors.shape == (3, 0, 10)


def test_an_empty_token_is_a_token(embedder: Embedder) -> None:
    (result,) = embedder.embed([[""]])
    assert result.vectors.shape == (3, 1, 10)
    assert result.layer(0).any()


@pytest.mark.parametrize("max_batch_tokens", [1, 8, 1000])
def test_results_do_not_depend_on_the_batches(embedder: Embedder, max_batch_tokens: int) -> None:
    alone = [embedder.embed([sentence])[0] for sentence in SENTENCES]
    assert_equal(embedder.embed(SENTENCES, max_batch_tokens=max_batch_tokens), alone)


def test_calls_repeat_and_order_does_not_matter(embedder: Embedder) -> None:
    first = embedder.embed(SENTENCES)
    assert_equal(embedder.embed(SENTENCES), first)
    assert_equal(embedder.embed(SENTENCES[::-1])[::-1], first)
    np.testing.assert_allclose(first[0].vectors, first[4].vectors, atol=ROUNDING)


def test_a_stream_equals_a_list(embedder: Embedder) -> None:
    stream = embedder.embed_stream(iter(SENTENCES * 3), layers="average")
    assert_equal(list(stream), embedder.embed(SENTENCES * 3, layers="average"))


def test_a_stream_reads_no_further_than_it_must() -> None:
    embedder = Embedder(random_checkpoint())

    def endless() -> object:
        while True:
            yield ["word"] * 1000

    stream = embedder.embed_stream(endless(), layers=[0])  # type: ignore[arg-type]  # an endless iterator, of no narrower type
    assert next(stream).vectors.shape == (1, 1000, 10)


def test_a_carried_state_changes_the_second_call_until_it_is_reset(carrying: Embedder) -> None:
    first = carrying.embed(SENTENCES)
    second = carrying.embed(SENTENCES)
    assert np.abs(first[0].top - second[0].top).max() > 1e-3
    np.testing.assert_allclose(first[0].layer(0), second[0].layer(0), atol=ROUNDING)
    carrying.reset()
    assert_equal(carrying.embed(SENTENCES), first)


def test_a_carried_stream_is_one_text(carrying: Embedder) -> None:
    streamed = list(carrying.embed_stream(SENTENCES))
    carrying.reset()
    assert_equal(streamed, [carrying.embed([sentence])[0] for sentence in SENTENCES])


def test_a_warm_up_leaves_the_state_that_reading_does(carrying: Embedder) -> None:
    carrying.embed(SENTENCES)
    expected = carrying.embed(SENTENCES)
    carrying.reset()
    carrying.warm_up(SENTENCES)
    assert_equal(carrying.embed(SENTENCES), expected)


def test_a_stateless_embedder_refuses_to_warm_up(embedder: Embedder) -> None:
    with pytest.raises(InputError, match="carry_state=True"):
        embedder.warm_up(SENTENCES)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["a"], ["b", 3]], r"sentence 1, token 1.*int"),
        ([["a", None]], r"sentence 0, token 1.*None"),
        ([["a", b"b"]], "bytes"),
        (["not split"], r"sentence 0.*str"),
    ],
)
def test_what_is_no_token_is_named(embedder: Embedder, sentences: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedder.embed(sentences)  # type: ignore[arg-type]  # wrong on purpose


def test_load_takes_a_path(tmp_path: Path) -> None:
    save_checkpoint(random_checkpoint(), tmp_path / "m", format="bilm")
    loaded = Embedder.load(tmp_path / "m")
    assert_equal(loaded.embed(SENTENCES), Embedder(random_checkpoint()).embed(SENTENCES))
    both = f"{tmp_path / 'm' / 'options.json'},{tmp_path / 'm' / 'weights.hdf5'}"
    assert_equal(Embedder.load(both).embed(SENTENCES), loaded.embed(SENTENCES))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(CheckpointError, match="known names: mini-en"):
        Embedder.load("no-such-model")


def test_an_unknown_precision_and_device_are_refused() -> None:
    with pytest.raises(InputError, match="precision must be fp32"):
        Embedder.load(precision="fp7")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="'warp'"):
        Embedder(random_checkpoint(), device="warp")


def test_a_comparison_has_every_pair_and_a_token_layer_of_one() -> None:
    embedder = Embedder(random_checkpoint())
    sentences = [["the", "bank"], ["bank", "of", "a", "river"], ["bank"]]
    pairs = compare_word(embedder, sentences, "bank")
    assert [(p.first, p.second) for p in pairs] == [(0, 1), (0, 2), (1, 2)]
    results = embedder.embed(sentences)
    for pair in pairs:
        assert pair.cosines[0] == pytest.approx(1, abs=1e-6)  # the same vector twice
        a = results[pair.first].top[sentences[pair.first].index("bank")]
        b = results[pair.second].top[sentences[pair.second].index("bank")]
        cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        assert pair.cosines[2] == pytest.approx(cosine, abs=1e-5)


def test_a_comparison_names_the_sentence_without_the_word(embedder: Embedder) -> None:
    with pytest.raises(InputError, match="sentence 2 has no token 'bank'"):
        compare_word(embedder, [["bank"], ["bank."]], "bank")
    with pytest.raises(InputError, match="two sentences"):
        compare_word(embedder, [["bank"]], "bank")
