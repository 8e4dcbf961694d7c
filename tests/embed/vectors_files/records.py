"""A short text with all that is special in one, and results of the right shapes for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files import VectorsLayout, open_writer

__all__ = [
    "ALL_LAYERS",
    "DIM",
    "IN_PARTS",
    "ONE_VECTOR",
    "SENTENCES",
    "SETTINGS",
    "WINDOWS",
    "results",
    "results_of",
    "write",
]

DIM, NUM_LAYERS = 8, 3
# blank lines alone in a window, at its start and inside; a repeated sentence; quotes; two scripts
WINDOWS: list[list[tuple[str, ...]]] = [
    [("The", "\u00fcber", '"', "\\", "."), (), ("b",)],
    [()],
    [(), ("b",), ("\u6771\u4eac", "\U0001f600")],
    [("The", "b")],
]
SENTENCES = [sentence for window in WINDOWS for sentence in window]
SETTINGS = {"text": "a.txt, 60 bytes", "layers": "all", "max_batch_tokens": 4096}
ALL_LAYERS = VectorsLayout(layer_names=(0, 1, 2), dim=DIM, dtype="float32")
ONE_VECTOR = VectorsLayout(layer_names=None, dim=DIM, dtype="float32")
IN_PARTS = [".h5", ".hdf5", ".jsonl", pytest.param(".parquet", marks=pytest.mark.extra("arrow"))]


def results_of(
    window: Sequence[tuple[str, ...]], first: int, layout: VectorsLayout
) -> list[Representations]:
    """Return vectors that depend on the number of the sentence alone, over many magnitudes."""
    kept = layout.layer_names or (NUM_LAYERS - 1,)
    made = []
    for number, tokens in enumerate(window, first):
        random = np.random.default_rng(number)
        shape = (len(kept), len(tokens), layout.dim)
        vectors = random.normal(size=shape) * 10.0 ** random.integers(-4, 4, size=shape)
        made.append(
            Representations(
                tokens=tokens,
                vectors=vectors.astype(np.float32),
                kept=kept,
                num_layers=NUM_LAYERS,
            )
        )
    return made


def results(layout: VectorsLayout) -> list[Representations]:
    """Return the results of the whole text."""
    return results_of(SENTENCES, 0, layout)


def write(
    target: Path | str,
    layout: VectorsLayout = ALL_LAYERS,
    *,
    resume: bool = False,
    settings: Mapping[str, object] = SETTINGS,
    stop_after: int | None = None,
) -> int:
    """Write the text as a job does, and return how many windows were there already.

    ``stop_after`` leaves after so many windows without finishing, as a killed job does.
    """
    with open_writer(target, layout, settings=settings, resume=resume) as writer:
        first = 0
        for part, window in enumerate(WINDOWS):
            if part == stop_after:
                break
            if part >= writer.parts_done:
                writer.write_part(first, results_of(window, first, layout))
            first += len(window)
        else:
            if stop_after is None:
                writer.finish()
        return writer.parts_done
