"""Peak memory of one very long sentence, above its result: the same for 10,000 and 100,000 tokens.

  python -m benchmarks.long_line [--model mini-en] [--tokens 10000 100000]

Each length runs in a process of its own. The words are a corpus' worth of different ones, so that
the char CNN works too.
"""

import argparse
import random
import resource
import subprocess
import sys

__all__ = ["long_sentence"]


def long_sentence(num_tokens: int) -> list[str]:
    """Return words that repeat about as often as a text's do."""
    generator = random.Random(7)
    return [f"w{int(generator.paretovariate(0.8))}" for _ in range(num_tokens)]


def measure(model: str, num_tokens: int) -> None:
    from elmo_torch import Embedder

    embedder = Embedder.load(model)
    embedder.embed([["warm", "up"]])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (result,) = embedder.embed([long_sentence(num_tokens)])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    above = (after - before) * 1024 / 1e6 - result.vectors.nbytes / 1e6
    print(
        f"{num_tokens:9,d} tokens: result {result.vectors.nbytes / 1e6:6.0f} MB, "
        f"peak above it {above:5.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini-en")
    parser.add_argument("--tokens", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--here", action="store_true", help="measure in this process")
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.model, arguments.tokens[0])
        return
    for num_tokens in arguments.tokens:
        words = ["--model", arguments.model, "--tokens", str(num_tokens), "--here"]
        subprocess.run([sys.executable, "-m", "benchmarks.long_line", *words], check=True)


if __name__ == "__main__":
    main()
