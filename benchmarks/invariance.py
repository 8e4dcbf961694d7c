"""How far a sentence's vectors move with what they must not depend on (stateless, float32).

  python -m benchmarks.invariance ../shared/data/corpus/valid.txt.xz [--model mini-en] [--sentences 256]

Prints the largest absolute difference from the vectors of each sentence embedded alone.
"""

import argparse
import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from elmo_torch import Embedder
from elmo_torch.text.readers import Sentence, read_sentences

__all__ = ["largest_differences"]

Embed = Callable[[Sequence[Sentence]], list[np.ndarray]]


def largest_differences(embedder: Embedder, sentences: list[Sentence]) -> dict[str, float]:
    """Return the largest difference for each way of calling the model otherwise."""

    def embed(texts: Sequence[Sentence], max_batch_tokens: int = 10**9) -> list[np.ndarray]:
        embedder.clear_cache()
        return [r.vectors for r in embedder.embed(texts, max_batch_tokens=max_batch_tokens)]

    def apart(others: list[np.ndarray]) -> float:
        return max(float(np.abs(a - b).max()) for a, b in zip(alone, others, strict=True) if a.size)

    alone = [embed([sentence])[0] for sentence in sentences]
    order = random.Random(0).sample(range(len(sentences)), len(sentences))
    permuted = embed([sentences[index] for index in order])
    restored: list[np.ndarray] = [np.empty(0)] * len(sentences)
    for index, vectors in zip(order, permuted, strict=True):
        restored[index] = vectors
    longest = max(sentences, key=len) * 3
    found = {
        "permuted batch": apart(restored),
        "batches of 64": apart(
            list(
                itertools.chain.from_iterable(
                    embed(sentences[start : start + 64]) for start in range(0, len(sentences), 64)
                )
            )
        ),
        "padded by a long sentence": apart(
            [embed([s, longest])[0] for s in sentences[:32]] + alone[32:]
        ),
        "repeated call": apart([embed([s])[0] for s in sentences]),
    }
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found[f"{count} thread{'s' if count > 1 else ''}"] = apart(embed(sentences, 4096))
    finally:
        torch.set_num_threads(threads)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", default="mini-en")
    parser.add_argument("--sentences", type=int, default=256)
    arguments = parser.parse_args()
    sentences = list(
        itertools.islice(filter(None, read_sentences(arguments.text)), arguments.sentences)
    )
    for name, difference in largest_differences(Embedder.load(arguments.model), sentences).items():
        print(f"{name:28s} {difference:.2e}")


if __name__ == "__main__":
    main()
