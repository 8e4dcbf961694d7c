"""An embedder that carries its state gives what TensorFlow gave, sentence after sentence."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmo_torch import Embedder
from tests.shared_data import shared

# as tests/golden: the peers differ from float64 by up to 2e-6; the mildest mistake moves 4e-4
TOLERANCE = 1e-5


@pytest.mark.parametrize(
    ("name", "sentences"),
    [("bilm-tf", "lm_embeddings_sentences.json"), ("allennlp", "sentences.json")],
)
def test_carried_batches_equal_tensorflows(name: str, sentences: str) -> None:
    folder: Path = shared(f"fixtures/bilm_tf/{name}")
    embedder = Embedder.load(
        f"{folder / 'options.json'},{folder / 'lm_weights.hdf5'}", carry_state=True
    )
    columns = [
        [line.split() for line in column] for column in json.loads((folder / sentences).read_text())
    ]
    for number, batch in enumerate(zip(*columns, strict=True)):
        for row, result in enumerate(embedder.embed(batch)):
            with h5py.File(folder / f"lm_embeddings_{row}.hdf5") as file:
                expected = file[str(number)][...]
            halves = np.stack([result.forward(2), result.backward(2)])
            np.testing.assert_allclose(halves, expected, rtol=0, atol=TOLERANCE)
