"""A sentence's vectors answer for the layers that were kept, and say so for those that were not."""

import numpy as np
import pytest
import torch

from elmo_torch import ScalarMix
from elmo_torch.embed.representations import Representations
from elmo_torch.errors import InputError, LayerOmittedError

VECTORS = np.random.default_rng(0).standard_normal((3, 4, 6)).astype(np.float32)
TOKENS = ("a", "b", "c", "d")


def kept(*layers: int) -> Representations:
    return Representations(tokens=TOKENS, vectors=VECTORS[list(layers)], kept=layers, num_layers=3)


ALL = kept(0, 1, 2)
AVERAGE = Representations(
    tokens=TOKENS, vectors=VECTORS.mean(axis=0, keepdims=True), kept=None, num_layers=3
)


def test_layers_and_halves_are_views_of_the_vectors() -> None:
    for layer in range(3):
        assert (ALL.layer(layer) == VECTORS[layer]).all()
        assert (ALL.forward(layer) == VECTORS[layer][:, :3]).all()
        assert (ALL.backward(layer) == VECTORS[layer][:, 3:]).all()
    assert (ALL.top == VECTORS[2]).all()
    assert len(ALL) == 4
    assert ALL.dim == 6


def test_layers_kept_in_another_order_keep_their_numbers() -> None:
    shuffled = kept(2, 0, 1)
    assert (shuffled.layer(1) == VECTORS[1]).all()
    np.testing.assert_array_equal(shuffled.mix([1, 2, 3]), ALL.mix([1, 2, 3]))


def test_the_average_is_the_same_kept_or_computed() -> None:
    np.testing.assert_array_equal(ALL.average, AVERAGE.average)


def test_a_mix_equals_the_trained_module() -> None:
    mix = ScalarMix(3, weights=[0.3, -0.2, 0.5])
    with torch.no_grad():
        mix.gamma.fill_(0.7)
        expected = mix(torch.from_numpy(VECTORS)[:, None], torch.ones(1, 4, dtype=torch.bool))[0]
    # rounding of float32 products
    np.testing.assert_allclose(ALL.mix([0.3, -0.2, 0.5], 0.7), expected.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "ask", [lambda r: r.layer(1), lambda r: r.forward(1), lambda r: r.backward(1)]
)
@pytest.mark.parametrize("held", [kept(0, 2), AVERAGE])
def test_an_omitted_layer_is_an_error_that_says_how_to_ask(
    ask: object, held: Representations
) -> None:
    with pytest.raises(LayerOmittedError, match=r'layers="all" or layers=\[1\]'):
        ask(held)  # type: ignore[operator]  # a lambda of the parameters above


@pytest.mark.parametrize(
    "ask", [lambda r: r.average, lambda r: r.mix([1, 1, 1]), lambda r: r.sentence()]
)
def test_what_needs_all_layers_says_so(ask: object) -> None:
    with pytest.raises(LayerOmittedError, match='layers="all"'):
        ask(kept(0, 2))  # type: ignore[operator]  # a lambda of the parameters above


@pytest.mark.parametrize("index", [-1, 3])
def test_a_layer_that_the_model_lacks_is_another_error(index: int) -> None:
    with pytest.raises(InputError, match="layers 0 to 2"):
        ALL.layer(index)


def test_a_mix_of_too_few_weights_is_refused() -> None:
    with pytest.raises(InputError, match="3 numbers"):
        ALL.mix([1.0, 2.0])


def test_a_sentence_vector_pools_the_average_or_the_one_layer_kept() -> None:
    np.testing.assert_array_equal(ALL.sentence(), AVERAGE.sentence())
    np.testing.assert_array_equal(ALL.sentence(), VECTORS.mean(axis=0).mean(axis=0))
    np.testing.assert_array_equal(kept(1).sentence("max"), VECTORS[1].max(axis=0))
    with pytest.raises(InputError, match="mean or max"):
        ALL.sentence("sum")  # type: ignore[arg-type]  # wrong on purpose


def test_the_sentence_vector_of_no_tokens_is_zeros() -> None:
    for pooling in ("mean", "max"):
        empty = Representations(
            tokens=(), vectors=np.zeros((3, 0, 6), np.float32), kept=(0, 1, 2), num_layers=3
        )
        assert (empty.sentence(pooling) == np.zeros(6)).all()
