"""Losses over the words of a vocabulary: the full softmax, and a sampled one for training.

The sampled softmax (Jean et al. 2015) scores each target against words drawn once for the whole
batch, log-uniformly over the frequency rank, without repeats. Each score is lowered by the log of
the number of times its word was to be expected among the draws, which makes the loss an estimate
of the full one. It is not a likelihood: only the full softmax gives perplexities.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = [
    "Negatives",
    "SoftmaxLayer",
    "draw_negatives",
    "expected_counts",
    "full_softmax_loss",
    "sampled_softmax_loss",
]


class SoftmaxLayer(nn.Module):
    """Output weights that both directions share: one row and one bias a word."""

    def __init__(self, *, vocab_size: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, projection_dim))
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        nn.init.normal_(self.weight, std=projection_dim**-0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Negatives:
    """Words drawn for one batch, each once, and how many draws it took to find that many."""

    words: Int[Tensor, " samples"]
    num_draws: int


def draw_negatives(num_samples: int, vocab_size: int, generator: torch.Generator) -> Negatives:
    """Return distinct words, drawn with p(k) = log((k + 2) / (k + 1)) / log(vocab_size + 1)."""
    if not 0 < num_samples < vocab_size:
        raise ValueError(
            f"num_samples must be between 1 and vocab_size - 1 ({vocab_size - 1}); got {num_samples}"
        )
    words = torch.empty(0, dtype=torch.long)
    while True:
        uniform = torch.rand(4 * num_samples, generator=generator, dtype=torch.float64)
        drawn = (uniform * math.log(vocab_size + 1)).exp().long() - 1
        words = torch.cat([words, drawn.clamp_(0, vocab_size - 1)])
        distinct, inverse = torch.unique(words, return_inverse=True)
        if len(distinct) >= num_samples:
            break
    # the draw at which each distinct word was first met
    first = torch.full_like(distinct, len(words)).scatter_reduce(
        0, inverse, torch.arange(len(words)), reduce="amin"
    )
    order = first.argsort()[:num_samples]
    return Negatives(words=distinct[order], num_draws=int(first[order[-1]]) + 1)


def expected_counts(
    words: Int[Tensor, "*shape"], *, vocab_size: int, num_draws: int
) -> Float[Tensor, "*shape"]:
    """Return the probability that each word is met in ``num_draws`` draws."""
    rank = words.double()
    probability = ((rank + 2) / (rank + 1)).log() / math.log(vocab_size + 1)
    return -torch.expm1(num_draws * torch.log1p(-probability))


def full_softmax_loss(
    hidden: Float[Tensor, "tokens proj"],
    targets: Int[Tensor, " tokens"],
    softmax: SoftmaxLayer,
) -> Float[Tensor, " tokens"]:
    """Return ``-log p(target)``, in nats, of every token."""
    return F.cross_entropy(
        F.linear(hidden, softmax.weight, softmax.bias), targets, reduction="none"
    )


def sampled_softmax_loss(
    hidden: Float[Tensor, "tokens proj"],
    targets: Int[Tensor, " tokens"],
    softmax: SoftmaxLayer,
    negatives: Negatives,
) -> Float[Tensor, " tokens"]:
    """Return the estimated loss of every token; a negative that is the target itself is left out."""
    vocab_size = len(softmax.weight)

    def log_expected(words: Tensor) -> Tensor:
        counts = expected_counts(words, vocab_size=vocab_size, num_draws=negatives.num_draws)
        return counts.log().to(hidden.dtype)

    words = negatives.words
    true_scores = (hidden * softmax.weight[targets]).sum(dim=-1) + softmax.bias[targets]
    true_scores = true_scores - log_expected(targets)
    scores = F.linear(hidden, softmax.weight[words], softmax.bias[words] - log_expected(words))
    scores = scores.masked_fill(targets[:, None] == words, -math.inf)  # (tokens, samples)
    # -log of the target's share: log(exp(true) + sum exp(scores)) - true
    return F.softplus(scores.float().logsumexp(dim=1) - true_scores)
