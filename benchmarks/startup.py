"""How long the light commands take, beside the bare interpreter and the import of torch.

  python -m benchmarks.startup [--rounds 7]

Each round starts every command once, so that a busy moment hits all of them; medians are printed.
"""

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import elmo_torch": ["-c", "import elmo_torch"],
    "elmo --help": ["-m", "elmo_torch", "--help"],
    "import torch": ["-c", "import torch"],
    "elmo compare (two sentences)": [
        "-m", "elmo_torch", "compare", "the bank of a river", "the bank failed", "--word", "bank",
    ],
}  # fmt: skip


def seconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    times = [{name: seconds(words) for name, words in COMMANDS.items()} for _ in range(rounds + 1)]
    torch_alone = statistics.median(t["import torch"] for t in times[1:])
    for name in COMMANDS:
        median = statistics.median(
            t[name] for t in times[1:]
        )  # the first round fills the disk cache
        print(f"{name:30s} {median:6.2f} s  {median / torch_alone:5.2f} x import torch")


if __name__ == "__main__":
    main()
