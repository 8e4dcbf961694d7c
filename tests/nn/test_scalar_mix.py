"""The mix of layers, its equation, and both ancestors' normalisation."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from elmo_torch.nn.scalar_mix import LayerNormKind, ScalarMix, normalize_layer

LAYERS, BATCH, TOKENS, DIM = 3, 2, 5, 4
WEIGHTS = [0.3, -0.2, 0.5]


def _layers() -> Tensor:
    generator = torch.Generator().manual_seed(6)
    return 1 + 2 * torch.randn(LAYERS, BATCH, TOKENS, DIM, generator=generator)


def _mask() -> Tensor:
    return torch.arange(TOKENS) < torch.tensor([TOKENS, 3])[:, None]


def test_a_mix_is_gamma_times_the_weighted_sum_of_the_layers() -> None:
    mix = ScalarMix(LAYERS, weights=WEIGHTS)
    with torch.no_grad():
        mix.gamma.fill_(0.7)
    exponents = [math.exp(weight) for weight in WEIGHTS]
    scalars = [exponent / sum(exponents) for exponent in exponents]
    layers = _layers()
    expected = 0.7 * sum(s * layer for s, layer in zip(scalars, layers, strict=True))
    # float32 sums of three numbers below 10; weights before softmax would be off by over 0.1
    torch.testing.assert_close(mix(layers, _mask()), expected, rtol=0, atol=5e-6)
    assert mix.scalars.tolist() == pytest.approx(scalars, abs=1e-7)  # one float32 rounding


def test_a_new_mix_is_the_mean_of_the_layers() -> None:
    layers = _layers()
    # float32 rounding of numbers below 10
    torch.testing.assert_close(
        ScalarMix(LAYERS)(layers, _mask()), layers.mean(dim=0), rtol=0, atol=2e-6
    )


def test_adding_a_number_to_all_weights_changes_nothing() -> None:
    mix, shifted = (
        ScalarMix(LAYERS, weights=WEIGHTS),
        ScalarMix(LAYERS, weights=[weight + 1 / LAYERS for weight in WEIGHTS]),
    )
    # bilm-tf adds 1/n before the softmax; float32 rounding
    torch.testing.assert_close(
        mix(_layers(), _mask()), shifted(_layers(), _mask()), rtol=0, atol=2e-6
    )


def test_without_normalisation_the_mask_does_not_matter() -> None:
    mix = ScalarMix(LAYERS)
    assert torch.equal(mix(_layers(), _mask()), mix(_layers(), torch.ones_like(_mask())))


@pytest.mark.parametrize("kind", ["allennlp", "bilm-tf"])
def test_a_normalised_layer_has_mean_0_and_variance_1_over_all_real_tokens(
    kind: LayerNormKind,
) -> None:
    layer, mask = _layers()[0].double(), _mask()
    normalized = normalize_layer(layer, mask, kind)
    real = normalized[mask]
    # float64; the epsilon in the variance is at most 1e-12
    assert real.mean().item() == pytest.approx(0, abs=1e-12)
    assert real.var(correction=0).item() == pytest.approx(1, abs=1e-11)
    # one mean for all: tokens and features keep their own means
    assert real.mean(dim=0).abs().max() > 0.05
    assert real.mean(dim=1).abs().max() > 0.05
    numbers = layer[mask].numpy()
    expected = (layer.numpy() - numbers.mean()) / numbers.std()
    np.testing.assert_allclose(normalized.numpy(), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("kind", "epsilon"), [("allennlp", 1e-13), ("bilm-tf", 1e-12)])
def test_each_ancestor_has_its_own_epsilon(kind: LayerNormKind, epsilon: float) -> None:
    deviation = 1e-7
    layer = torch.tensor([[[deviation, -deviation]]], dtype=torch.float64)
    normalized = normalize_layer(layer, torch.ones(1, 1, dtype=torch.bool), kind)
    expected = deviation / math.sqrt(deviation**2 + epsilon)
    # the two epsilons give 0.302 and 0.0995 here
    assert normalized[0, 0, 0].item() == pytest.approx(expected, rel=1e-9)


def test_padding_does_not_enter_mean_and_variance() -> None:
    mix, layers, mask = ScalarMix(LAYERS, layer_norm="allennlp"), _layers(), _mask()
    noisy = torch.where(mask[..., None], layers, torch.tensor(1e4))
    assert torch.equal(mix(layers, mask)[mask], mix(noisy, mask)[mask])


def test_every_layer_is_normalised_by_itself() -> None:
    mix, layers, mask = ScalarMix(LAYERS, weights=WEIGHTS, layer_norm="bilm-tf"), _layers(), _mask()
    scaled = layers * torch.tensor([1.0, 20.0, 0.5])[:, None, None, None]
    # scaling a layer is undone by its own norm, up to float32 rounding
    torch.testing.assert_close(mix(scaled, mask), mix(layers, mask), rtol=0, atol=5e-6)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="weights must hold 3 numbers, one a layer; got 2"):
        ScalarMix(LAYERS, weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="this mix is of 2 layers; got 3"):
        ScalarMix(2)(_layers(), _mask())


def test_a_mix_that_is_not_trainable_has_no_gradients() -> None:
    assert all(parameter.requires_grad for parameter in ScalarMix(LAYERS).parameters())
    frozen = ScalarMix(LAYERS, trainable=False)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    assert set(frozen.state_dict()) == {"weights", "gamma"}
