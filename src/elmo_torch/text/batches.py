"""Sentences into batches of bounded size, in an order that can be undone, and into windows of a stream."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["token_budget_batches", "windows"]

_NUM_BOUNDARIES = 2
_MAX_WINDOW_SENTENCES = 8192  # so that blank lines alone do not make a window without end

_SentenceT = TypeVar("_SentenceT", bound=Sequence[str])


def token_budget_batches(
    sentences: Sequence[Sequence[str]], *, max_batch_tokens: int
) -> Iterator[list[int]]:
    """Yield places of sentences, longest first, so that rows times the longest stay within the budget.

    Boundary tokens count. A sentence longer than the budget is a batch of its own.
    """
    lengths = [len(sentence) + _NUM_BOUNDARIES for sentence in sentences]
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > max_batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def windows(sentences: Iterable[_SentenceT], *, max_tokens: int) -> Iterator[list[_SentenceT]]:
    """Yield consecutive sentences, as many as hold ``max_tokens``; the text alone decides where they part.

    A window closes with the sentence that fills it, so a sentence is never split and each window but
    the last is full.
    """
    window: list[_SentenceT] = []
    tokens = 0
    for sentence in sentences:
        window.append(sentence)
        tokens += len(sentence)
        if tokens >= max_tokens or len(window) == _MAX_WINDOW_SENTENCES:
            yield window
            window, tokens = [], 0
    if window:
        yield window
