"""Write an options and weights pair with our writer, load it in AllenNLP itself, and compare.

Run from the root of the repository, with the interpreter of an environment that has AllenNLP:
``python -m benchmarks.allennlp_pair --allennlp-python PATH [--model MODEL]``. The pair is of a random
model, or of MODEL, anything that ``elmo`` reads. Exit code 1 if a layer is farther than the tolerance.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from elmo_torch.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from elmo_torch.integrations.allennlp import Elmo, batch_to_ids
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig

# The peer differs from itself in float64 by up to 2e-6 on small models (fixtures/golden/README.md).
# Leaving out a clip or the residual of the random model moves a layer by 0.019 or more (measured).
TOLERANCE = 1e-5
NUM_SENTENCES, BATCH_SIZE = 36, 7
WORDS = [
    "the",
    "bank",
    "steep",
    "approved",
    "don't",
    "3.14",
    "<S>",
    "\u00e9t\u00e9",
    "\u6771\u4eac",
    "\U0001f600",
]

# What the other interpreter runs: options, weights, batches as JSON, and the file for its layers.
ALLENNLP_PROGRAM = """
import json, sys
import numpy, torch
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids

options, weights, batches, result = sys.argv[1:]
bilm = _ElmoBiLm(options, weights).eval()
bilm._elmo_lstm.stateful = False  # a zero state before every batch
layers = {}
with torch.no_grad():
    for number, batch in enumerate(json.load(open(batches))):
        output = bilm(batch_to_ids(batch))
        layers[str(number)] = torch.stack(output["activations"]).numpy()
numpy.savez(result, **layers)
"""


def random_model() -> Checkpoint:
    """Return a model whose clips work: of its values, 4 % in memory and 7 % after projection.

    The clips are narrow, not the weights wide: wide ones blow up rounding to over the tolerance.
    """
    config = BiLmConfig(
        token_encoder=CharCnnConfig(
            char_dim=16,
            filters=((1, 32), (2, 33), (3, 64), (4, 128), (5, 256)),
            projection_dim=96,
            num_highway=2,
        ),
        lstm=BiLstmpConfig(
            cell_dim=320, projection_dim=96, num_layers=2, cell_clip=2.0, proj_clip=0.5
        ),
    )
    torch.manual_seed(0)
    state_dict = {
        name: torch.randn(value.shape) * (0.3 if value.dim() == 1 else value[0].numel() ** -0.5)
        for name, value in BiLm(config).state_dict().items()
    }
    state_dict["token_encoder.char_embedding.weight"][0] = 0  # padding
    return Checkpoint(config=config, state_dict=state_dict, source="random", format="native")


def random_batches() -> list[list[list[str]]]:
    chooser = random.Random(0)
    sentences = []
    for _ in range(NUM_SENTENCES):
        sentence = chooser.choices(WORDS, k=chooser.randint(1, 30))
        sentence[0] = "".join(chooser.choices("abcdefghij", k=chooser.randint(1, 60)))
        sentences.append(sentence)
    return [sentences[i : i + BATCH_SIZE] for i in range(0, NUM_SENTENCES, BATCH_SIZE)]


def allennlp_layers(
    python: str, folder: Path, batches: list[list[list[str]]]
) -> list[torch.Tensor]:
    """Return the layers (layers, batch, tokens + 2, dim) of each batch."""
    texts, result = folder / "batches.json", folder / "layers.npz"
    texts.write_text(json.dumps(batches))
    files = [str(folder / "pair" / name) for name in ("options.json", "weights.hdf5")]
    subprocess.run(
        [python, "-W", "ignore", "-c", ALLENNLP_PROGRAM, *files, str(texts), str(result)],
        check=True,
    )
    with np.load(result) as layers:
        return [torch.from_numpy(layers[str(number)]) for number in range(len(batches))]


def our_layers(folder: Path, batches: list[list[list[str]]]) -> list[torch.Tensor]:
    pair = folder / "pair"
    bilm = Elmo(pair / "options.json", pair / "weights.hdf5", 1).bilm
    with torch.no_grad():
        return [torch.stack(bilm(batch_to_ids(batch))["activations"]) for batch in batches]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allennlp-python", required=True, help="an interpreter with AllenNLP")
    parser.add_argument("--model", help="compare this model in place of a random one")
    arguments = parser.parse_args()
    checkpoint = load_checkpoint(arguments.model) if arguments.model else random_model()
    batches = random_batches()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_checkpoint(checkpoint, folder / "pair", format="bilm")
        ours = our_layers(folder, batches)
        theirs = allennlp_layers(arguments.allennlp_python, folder, batches)
    difference = max(
        float((one - other).abs().max()) for one, other in zip(ours, theirs, strict=True)
    )
    largest = max(float(layers.abs().max()) for layers in ours)
    print(f"{checkpoint.source}: {NUM_SENTENCES} sentences, {len(ours[0])} layers")
    print(f"largest value {largest:.2f}, largest absolute difference {difference:.2e}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
