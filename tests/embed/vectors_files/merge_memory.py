"""Program: merge many parts into the file given; print its bytes and those that memory grew by."""

import re
import sys
from pathlib import Path

from elmo_torch.embed.vectors_files import VectorsLayout, open_writer
from tests.embed.vectors_files.records import results_of

_NUM_PARTS = 60


def _peak_bytes() -> int:
    # of this program alone: getrusage would count what its parent had before
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


def main(target: Path) -> None:
    dim = 20 if target.suffix == ".jsonl" else 300  # JSON takes long to make and loads no library
    layout = VectorsLayout(layer_names=(0, 1, 2), dim=dim, dtype="float32")
    window = results_of([("a", "b", "c", "d")] * 200, 0, layout)
    with open_writer(target, layout, settings={}, resume=False) as writer:
        for part in range(_NUM_PARTS):
            writer.write_part(part * len(window), window)
        before = _peak_bytes()
        writer.finish()
    sys.stdout.write(f"{target.stat().st_size} {_peak_bytes() - before}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
