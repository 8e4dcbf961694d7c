"""The full and the sampled softmax: distributions, expected counts, and how the two losses meet."""

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from elmo_torch.nn.softmax import (
    Negatives,
    SoftmaxLayer,
    draw_negatives,
    expected_counts,
    full_softmax_loss,
    sampled_softmax_loss,
)
from tests.helpers import fill

TOKENS, PROJ, VOCAB = 3, 4, 7
CERTAIN = 10**9  # draws after which every word has been met


def _probabilities(vocab_size: int) -> list[float]:
    return [math.log((k + 2) / (k + 1)) / math.log(vocab_size + 1) for k in range(vocab_size)]


def _softmax() -> SoftmaxLayer:
    softmax = SoftmaxLayer(vocab_size=VOCAB, projection_dim=PROJ)
    fill(softmax, seed=7)
    return softmax


def _batch() -> tuple[Tensor, Tensor]:
    hidden = torch.randn(TOKENS, PROJ, generator=torch.Generator().manual_seed(8))
    return hidden, torch.tensor([6, 0, 2])


def test_probabilities_of_the_draws_sum_to_one() -> None:
    # expected_counts after one draw are the probabilities; float64 sum
    counts = expected_counts(torch.arange(1000), vocab_size=1000, num_draws=1)
    assert counts.sum().item() == pytest.approx(1, abs=1e-12)
    assert counts[:3].tolist() == pytest.approx(_probabilities(1000)[:3], rel=1e-12)


@pytest.mark.parametrize("num_draws", [1, 2, 5])
def test_expected_counts_are_the_share_of_all_sequences_that_meet_the_word(num_draws: int) -> None:
    vocab_size = 4
    p = _probabilities(vocab_size)
    met = [0.0] * vocab_size
    for sequence in itertools.product(range(vocab_size), repeat=num_draws):
        for word in set(sequence):
            met[word] += math.prod(p[drawn] for drawn in sequence)
    counts = expected_counts(torch.arange(vocab_size), vocab_size=vocab_size, num_draws=num_draws)
    # an exact sum in float64
    assert counts.tolist() == pytest.approx(met, abs=1e-12)


def test_first_draws_follow_the_log_uniform_distribution() -> None:
    generator, num_trials = torch.Generator().manual_seed(0), 4000
    seen = [0] * VOCAB
    for _ in range(num_trials):
        seen[int(draw_negatives(1, VOCAB, generator).words[0])] += 1
    for count, p in zip(seen, _probabilities(VOCAB), strict=True):
        # five standard deviations of a binomial count; the seed is fixed
        assert abs(count - num_trials * p) < 5 * math.sqrt(num_trials * p * (1 - p))


def test_words_turn_up_among_the_negatives_as_often_as_expected_counts_say() -> None:
    generator, num_trials, num_samples = torch.Generator().manual_seed(1), 1000, 50
    vocab_size = 400
    met, expected = torch.zeros(vocab_size), torch.zeros(vocab_size, dtype=torch.float64)
    words = torch.arange(vocab_size)
    for _ in range(num_trials):
        negatives = draw_negatives(num_samples, vocab_size, generator)
        met[negatives.words] += 1
        expected += expected_counts(words, vocab_size=vocab_size, num_draws=negatives.num_draws)
    # Groups of words of like rank, so that the counts are large. Over four seeds the two differ by
    # at most 0.7 %; num_samples * p, which forgets the rejections, is off by 27 % to 360 %.
    for group in (slice(0, 2), slice(2, 10), slice(10, 100), slice(100, 400)):
        assert met[group].sum().item() == pytest.approx(expected[group].sum().item(), rel=0.02)


@pytest.mark.parametrize("num_samples", [1, 3, 6])
def test_negatives_are_distinct_words_of_the_vocabulary(num_samples: int) -> None:
    generator = torch.Generator().manual_seed(2)
    for _ in range(50):
        negatives = draw_negatives(num_samples, VOCAB, generator)
        words = negatives.words.tolist()
        assert len(words) == len(set(words)) == num_samples
        assert set(words) <= set(range(VOCAB))
        assert negatives.num_draws >= num_samples


def test_the_number_of_draws_is_that_of_drawing_one_by_one() -> None:
    num_samples, vocab_size, seed = 5, 100, 3
    negatives = draw_negatives(num_samples, vocab_size, torch.Generator().manual_seed(seed))
    uniform = torch.rand(
        4 * num_samples, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    met: list[int] = []
    num_draws = 0
    for number in uniform.tolist():
        num_draws += 1
        word = int(math.exp(number * math.log(vocab_size + 1))) - 1
        if word not in met:
            met.append(word)
        if len(met) == num_samples:
            break
    assert len(met) == num_samples
    assert negatives.words.tolist() == met
    assert negatives.num_draws == num_draws


def test_the_generator_alone_decides_the_draws() -> None:
    one, other = (draw_negatives(5, 100, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(one.words, other.words)
    assert one.num_draws == other.num_draws
    third = draw_negatives(5, 100, torch.Generator().manual_seed(5))
    assert not torch.equal(one.words, third.words)


@pytest.mark.parametrize("num_samples", [0, -1, VOCAB, VOCAB + 1])
def test_more_negatives_than_other_words_are_refused(num_samples: int) -> None:
    with pytest.raises(ValueError, match=rf"between 1 and vocab_size - 1 \(6\); got {num_samples}"):
        draw_negatives(num_samples, VOCAB, torch.Generator())


def test_the_full_loss_is_minus_the_log_of_the_targets_share() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    losses = full_softmax_loss(hidden, targets, softmax)
    for loss, vector, target in zip(losses, hidden, targets, strict=True):
        scores = [math.exp(s) for s in (softmax.weight @ vector + softmax.bias).tolist()]
        # float32 scores of about 3
        assert loss.item() == pytest.approx(-math.log(scores[target] / sum(scores)), abs=1e-5)


def test_with_every_word_certain_to_be_drawn_the_sampled_loss_is_the_full_loss() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    everything = Negatives(words=torch.arange(VOCAB).flip(0), num_draws=CERTAIN)
    sampled = sampled_softmax_loss(hidden, targets, softmax, everything)
    # expected counts are 1, so no score is changed; float32 rounding
    torch.testing.assert_close(
        sampled, full_softmax_loss(hidden, targets, softmax), rtol=0, atol=1e-5
    )


def test_every_score_is_lowered_by_the_log_of_its_expected_count() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    negatives = Negatives(words=torch.tensor([3, 1, 5, 4]), num_draws=9)
    losses = sampled_softmax_loss(hidden, targets, softmax, negatives)
    counts = expected_counts(torch.arange(VOCAB), vocab_size=VOCAB, num_draws=9)
    scores = hidden @ softmax.weight.T + softmax.bias - counts.log().float()
    for row, target in enumerate(targets.tolist()):
        chosen = scores[row, [target, 3, 1, 5, 4]]
        # float32 scores of about 3; counts are from 0.45 to 0.97, so their logs are far above this
        assert losses[row].item() == pytest.approx(
            F.cross_entropy(chosen, torch.tensor(0)).item(), abs=1e-5
        )


def test_a_negative_that_is_the_target_is_left_out() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    without = Negatives(words=torch.tensor([3, 1, 5, 4]), num_draws=9)
    for row, target in enumerate(targets.tolist()):
        hit = Negatives(words=torch.tensor([3, target, 1, 5, 4]), num_draws=9)
        losses = sampled_softmax_loss(hidden, targets, softmax, hit)
        plain = sampled_softmax_loss(hidden, targets, softmax, without)
        others = [other for other in range(TOKENS) if other != row]
        # the same sums with an exp(-inf) = 0 added; float32
        assert losses[row].item() == pytest.approx(plain[row].item(), abs=1e-6)
        assert (losses[others] > plain[others]).all()


def test_gradients_of_the_sampled_loss_touch_targets_and_negatives_alone() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    negatives = Negatives(words=torch.tensor([3, 0]), num_draws=4)
    torch.autograd.backward(sampled_softmax_loss(hidden, targets, softmax, negatives).sum())
    assert softmax.weight.grad is not None
    assert softmax.weight.grad.isfinite().all()
    touched = softmax.weight.grad.any(dim=1).nonzero().flatten().tolist()
    assert touched == [0, 2, 3, 6]


def test_gradients_are_finite_when_the_only_negative_is_the_target() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    negatives = Negatives(words=targets[:1], num_draws=1)
    losses = sampled_softmax_loss(hidden, targets, softmax, negatives)
    assert losses[0].item() == 0
    torch.autograd.backward(losses.sum())
    assert softmax.weight.grad is not None
    assert softmax.weight.grad.isfinite().all()


def test_the_mean_gradient_over_many_draws_points_where_the_full_gradient_does() -> None:
    softmax, (hidden, targets) = _softmax(), _batch()
    generator = torch.Generator().manual_seed(6)

    def gradient(loss: Tensor) -> Tensor:
        (result,) = torch.autograd.grad(loss.sum(), softmax.weight)
        return result.flatten()

    full = gradient(full_softmax_loss(hidden, targets, softmax))
    mean = torch.zeros_like(full)
    for _ in range(300):
        negatives = draw_negatives(4, VOCAB, generator)
        mean += gradient(sampled_softmax_loss(hidden, targets, softmax, negatives)) / 300
    # the estimate is biased but close; measured 0.974 to 0.980 over four seeds
    assert F.cosine_similarity(full, mean, dim=0) > 0.95
