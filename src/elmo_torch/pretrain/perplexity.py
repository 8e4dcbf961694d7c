"""Perplexity of held-out text by the full softmax: the stateless one, as the Embedder reads sentences.

Every word is a target of both directions, and the boundary at the end of each reading too:
``</S>`` forward, ``<S>`` backward. Words outside the vocabulary count as ``<UNK>``.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from elmo_torch.errors import TrainingError
from elmo_torch.nn.softmax import SoftmaxLayer, full_softmax_loss
from elmo_torch.pretrain.corpus import BOS_TYPE, EncodedCorpus
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers
from elmo_torch.text.batches import token_budget_batches, windows
from elmo_torch.text.readers import Sentence
from elmo_torch.text.vocabulary import Vocabulary

__all__ = ["HeldOutLoss", "evaluate", "unigram_perplexity"]

_WINDOW_TOKENS = 32_768
_BATCH_TOKENS = 2048
_SOFTMAX_ROWS = 512  # tokens scored at once: rows of (rows, vocab) float32


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutLoss:
    """Summed ``-log p`` in nats over the targets of each direction."""

    forward: float
    backward: float
    num_targets: int  # of one direction

    @property
    def forward_perplexity(self) -> float:
        """Exp of the mean forward loss."""
        return math.exp(self.forward / self.num_targets)

    @property
    def backward_perplexity(self) -> float:
        """Exp of the mean backward loss."""
        return math.exp(self.backward / self.num_targets)

    @property
    def mean_perplexity(self) -> float:
        """Exp of the mean of both losses: the geometric mean of the two perplexities."""
        return math.exp((self.forward + self.backward) / (2 * self.num_targets))


@torch.inference_mode()
def evaluate(
    bilm: FrozenBiLm,
    softmax: SoftmaxLayer,
    vocabulary: Vocabulary,
    sentences: Iterable[Sentence],
    *,
    progress: Callable[[int], None] = lambda tokens: None,
) -> HeldOutLoss:
    """Return the loss of the sentences that hold a token; TrainingError if none does."""
    top = select_layers("top", bilm.config.num_layers)
    proj = bilm.config.lstm.projection_dim
    forward = backward = 0.0
    num_targets = 0
    for window in windows(filter(None, sentences), max_tokens=_WINDOW_TOKENS):
        for batch in token_budget_batches(window, max_batch_tokens=_BATCH_TOKENS):
            rows = [window[index] for index in batch]
            vectors = bilm.run(rows, top, keep_boundaries=True).vectors
            words = [vocabulary.ids(row) for row in rows]
            hidden_forward = torch.cat([v[0, :-1, :proj] for v in vectors])
            hidden_backward = torch.cat([v[0, 1:, proj:] for v in vectors])
            forward += _summed_loss(
                hidden_forward, [np.append(ids, vocabulary.eos) for ids in words], softmax
            )
            backward += _summed_loss(
                hidden_backward, [np.append(vocabulary.bos, ids) for ids in words], softmax
            )
            num_targets += len(hidden_forward)
            progress(sum(map(len, rows)))
    if not num_targets:
        raise TrainingError("the text holds no token to predict")
    return HeldOutLoss(forward=forward, backward=backward, num_targets=num_targets)


def _summed_loss(
    hidden: torch.Tensor,
    targets: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]],
    softmax: SoftmaxLayer,
) -> float:
    words = torch.from_numpy(np.concatenate(targets)).to(hidden.device)
    pairs = zip(torch.split(hidden, _SOFTMAX_ROWS), torch.split(words, _SOFTMAX_ROWS), strict=True)
    return sum(full_softmax_loss(h, w, softmax).double().sum().item() for h, w in pairs)


def unigram_perplexity(
    corpus: EncodedCorpus, vocabulary: Vocabulary, sentences: Iterable[Sentence]
) -> float:
    """Return the perplexity of the same targets under word frequencies of the training corpus.

    Each count is raised by one, so that no target has probability zero.
    """
    counts = np.ones(len(vocabulary))
    np.add.at(counts, vocabulary.ids(corpus.word_types), corpus.counts)
    counts[vocabulary.bos] -= corpus.counts[
        BOS_TYPE
    ]  # one boundary a sentence is a target, not two
    log_probabilities = np.log(counts / counts.sum())
    loss, num_targets = 0.0, 0
    for sentence in filter(None, sentences):
        ids = np.append(vocabulary.ids(sentence), vocabulary.eos)
        loss -= log_probabilities[ids].sum()
        num_targets += len(ids)
    if not num_targets:
        raise TrainingError("the text holds no token to predict")
    return math.exp(loss / num_targets)
