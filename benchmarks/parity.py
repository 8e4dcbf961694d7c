"""Print how far the model is from other implementations, and how far deliberate mistakes would be.

Run from the root of the repository: ``python -m benchmarks.parity``. The expected values lie beside
the repository, in ``../shared/fixtures``. Exit code 1 if a row that should agree does not.
"""

import sys

from tests.golden.mistakes import MISTAKES
from tests.golden.parity import RUNTIME_TOLERANCES, TOLERANCE, distance
from tests.golden.peers import GOLDEN_RUNS, TENSORFLOW_RUNS, load_bilm, peer_run
from tests.golden.readers import FrozenReader, PlainReader, Reader


def print_parity() -> bool:
    """Print one row a run; return whether all are within the tolerances."""
    print(
        "Largest absolute difference of layers and states: nn, and the runtime at each precision\n"
    )
    columns = ["nn", *RUNTIME_TOLERANCES]
    print(f"{'tolerance':<48}" + "".join(f" {_tolerance(column):>17.0e}" for column in columns))
    print(f"{'run':<48}" + "".join(f" {column:>17}" for column in columns))
    agree = True
    for name in TENSORFLOW_RUNS + GOLDEN_RUNS:
        run = peer_run(name)
        bilm = load_bilm(run.model)
        readers: list[Reader] = [PlainReader(bilm)]
        readers += [FrozenReader(bilm, precision) for precision in RUNTIME_TOLERANCES]
        cells = []
        for column, reader in zip(columns, readers, strict=True):
            measured = distance(reader, run)
            state = "-" if measured.state is None else f"{measured.state:.1e}"
            cells.append(f" {measured.layers:>8.1e} {state:>8}")
            agree &= max(measured.layers, measured.state or 0) <= _tolerance(column)
        print(f"{name:<48}" + "".join(cells))
    return agree


def _tolerance(column: str) -> float:
    return {"nn": TOLERANCE, **RUNTIME_TOLERANCES}[column]


def print_mistakes() -> bool:
    """Print one row a mistake; return whether all are outside the tolerance."""
    print("\nDeliberate mistakes: largest absolute difference of the top layer\n")
    print(f"{'mistake':<38}" + "".join(f" {fixture:>9}" for fixture in TENSORFLOW_RUNS))
    seen = True
    for name, mistake in MISTAKES.items():
        errors = {fixture: mistake.error(peer_run(fixture)) for fixture in mistake.errors}
        cells = (f"{errors[f]:.2e}" if f in errors else "-" for f in TENSORFLOW_RUNS)
        print(f"{name:<38}" + "".join(f" {cell:>9}" for cell in cells))
        seen &= min(errors.values()) > TOLERANCE
    return seen


if __name__ == "__main__":
    results = [print_parity(), print_mistakes()]
    sys.exit(0 if all(results) else 1)
