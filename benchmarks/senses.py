"""Does a model tell senses apart? Triples of one word form: two uses of one sense, one of another.

  python -m benchmarks.senses ../shared/data/wsd/semcor3/dev.tsv.xz [--model mini-en]

For every layer: in how many triples the pair with the same sense key is nearer (cosine) than the pair
with different ones, with the 95 % interval of a binomial share. Chance is one half.
"""

import argparse
import lzma
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmo_torch import Embedder

__all__ = ["SenseTriple", "nearer_shares", "read_triples", "wilson_interval"]

SEED = 20181101
TRIPLES_A_FORM = 4  # so that a few frequent verbs do not decide


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a word form."""

    sentence: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class SenseTriple:
    """Two uses with the same sense key in different sentences, and one with another key."""

    anchor: Use
    same: Use
    other: Use


def _sentences(path: Path) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                if rows:
                    yield rows
                rows = []
            elif not line.startswith("# "):
                rows.append(line.rstrip("\n").split("\t"))
    if rows:
        yield rows


def read_triples(path: Path) -> list[SenseTriple]:
    """Return triples drawn with a fixed seed, at most TRIPLES_A_FORM for each word form."""
    uses: dict[str, dict[str, list[Use]]] = defaultdict(lambda: defaultdict(list))
    for rows in _sentences(path):
        words = tuple(row[0] for row in rows)
        for place, (word, _, _, keys, _, num_words) in enumerate(rows):
            if keys != "_" and ";" not in keys and num_words == "1":
                uses[word][keys].append(Use(words, place))
    generator = random.Random(SEED)
    triples: list[SenseTriple] = []
    for _, by_key in sorted(uses.items()):
        repeated = [key for key in sorted(by_key) if len({u.sentence for u in by_key[key]}) > 1]
        if not repeated or len(by_key) < 2:
            continue
        for _ in range(TRIPLES_A_FORM):
            key = generator.choice(repeated)
            anchor = generator.choice(by_key[key])
            same = generator.choice([u for u in by_key[key] if u.sentence != anchor.sentence])
            others = [u for k in sorted(by_key) if k != key for u in by_key[k]]
            triples.append(SenseTriple(anchor, same, generator.choice(others)))
    return list(dict.fromkeys(triples))


def nearer_shares(embedder: Embedder, triples: list[SenseTriple]) -> tuple[list[float], float]:
    """Return, for each layer, the share of triples whose same-sense pair is nearer.

    The second value is the lowest cosine of the token layer, which is 1 for any two uses of a form.
    """
    sentences = sorted({use.sentence for t in triples for use in (t.anchor, t.same, t.other)})
    vectors = dict(zip(sentences, embedder.embed(sentences), strict=True))

    def units(use: Use) -> np.ndarray:
        at_place: np.ndarray = vectors[use.sentence].vectors[:, use.place].astype(np.float64)
        norms: np.ndarray = np.linalg.norm(at_place, axis=-1, keepdims=True)
        unit: np.ndarray = at_place / norms
        return unit

    same, other = [], []
    for triple in triples:
        anchor = units(triple.anchor)
        same.append((anchor * units(triple.same)).sum(axis=-1))
        other.append((anchor * units(triple.other)).sum(axis=-1))
    nearer = (np.array(same) > np.array(other)).mean(axis=0)
    return nearer.tolist(), float(np.minimum(np.array(same)[:, 0], np.array(other)[:, 0]).min())


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of ``count`` trials (Wilson 1927)."""
    z2 = 1.959964**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = math.sqrt(z2 * (share * (1 - share) / count + z2 / (4 * count**2))) / (1 + z2 / count)
    return centre - half, centre + half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("semcor", type=Path)
    parser.add_argument("--model", default="mini-en")
    arguments = parser.parse_args()
    triples = read_triples(arguments.semcor)
    shares, lowest = nearer_shares(Embedder.load(arguments.model), triples)
    forms = len({t.anchor.sentence[t.anchor.place] for t in triples})
    print(f"{len(triples)} triples of {forms} word forms; lowest token-layer cosine {lowest:.7f}")
    for layer, share in enumerate(shares[1:], start=1):
        low, high = wilson_interval(share, len(triples))
        print(f"layer {layer}: same sense nearer in {share:.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
