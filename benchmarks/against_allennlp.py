"""Tokens a second of elmo-torch and of AllenNLP on the same model and text, in one run.

Run from the root of the repository, with the interpreter of an environment that has AllenNLP:
``python -m benchmarks.against_allennlp TEXT --allennlp-python PATH [--sizes mini-en small original]``.
Sentences are given in the order of the text, in batches of 32. The programs take turns, each for some
seconds a turn, from lists of str to arrays in memory; medians of the turns and their ratio are printed.
Caches of word types are cleared before each turn.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from elmo_torch.embed.catalogue import find_model
from elmo_torch.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.text.readers import read_sentences

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SIZES = {"small": (1024, 128, 1), "original": (4096, 512, 2)}  # cell, projection, highway layers

# What each interpreter runs: folder of the pair, sentences as JSON, seconds a turn. A line on standard
# input starts a turn; a line on standard output tells its tokens a second.
PROGRAM = """
import json, sys, time
import torch
torch.set_num_threads({threads})
folder, sentences, seconds = sys.argv[1], json.load(open(sys.argv[2])), float(sys.argv[3])
batches = [sentences[i:i + 32] for i in range(0, len(sentences), 32)]
{load}
for _ in sys.stdin:
    {clear}
    tokens, start = 0, time.perf_counter()
    for batch in batches:
        {embed}
        tokens += sum(map(len, batch))
        if time.perf_counter() - start > seconds:
            break
    print(tokens / (time.perf_counter() - start), flush=True)
"""
OURS = {
    "load": "from elmo_torch import Embedder\nembedder = Embedder.load(folder)",
    "clear": "embedder.clear_cache()",
    "embed": "[r.average for r in embedder.embed(batch)]",
}
ALLENNLP = {
    "load": "from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids\n"
    "bilm = _ElmoBiLm(folder + '/options.json', folder + '/weights.hdf5').eval()",
    "clear": "pass",
    "embed": "with torch.no_grad(): "
    "torch.stack(bilm(batch_to_ids(batch))['activations']).mean(0).numpy()",
}


def model_of_size(name: str) -> Checkpoint:
    """Return the bundled model, or one of a published size with random weights."""
    if name not in SIZES:
        return load_checkpoint(find_model(name))
    cell, proj, highways = SIZES[name]
    cnn = CharCnnConfig(char_dim=16, filters=FILTERS, projection_dim=proj, num_highway=highways)
    config = BiLmConfig(token_encoder=cnn, lstm=BiLstmpConfig(cell_dim=cell, projection_dim=proj))
    torch.manual_seed(0)
    return Checkpoint(
        config=config, state_dict=BiLm(config).state_dict(), source=name, format="native"
    )


def start(python: str, parts: dict[str, str], threads: int, *words: str) -> subprocess.Popen[str]:
    program = PROGRAM.format(threads=threads, **parts)
    return subprocess.Popen(
        [python, "-W", "ignore", "-c", program, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def turn(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--allennlp-python", required=True)
    parser.add_argument("--sizes", nargs="+", default=["mini-en", *SIZES])
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--turns", type=int, default=4, help="the first is not counted")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    sentences = list(itertools.islice(filter(None, read_sentences(arguments.text)), 4000))
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder, texts = Path(name) / "pair", Path(name) / "texts.json"
            save_checkpoint(model_of_size(size), folder, format="bilm")
            texts.write_text(json.dumps(sentences))
            words = (str(folder), str(texts), str(arguments.seconds))
            processes = [
                start(sys.executable, OURS, arguments.threads, *words),
                start(arguments.allennlp_python, ALLENNLP, arguments.threads, *words),
            ]
            turns = [[turn(process) for process in processes] for _ in range(arguments.turns)][1:]
            for process in processes:
                process.communicate()
        ours, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
        print(
            f"{size:9s} elmo-torch {ours:6,.0f}  AllenNLP {theirs:6,.0f} tokens/s  {ours / theirs:.1f} x",
            flush=True,
        )


if __name__ == "__main__":
    main()
