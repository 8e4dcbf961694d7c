"""Program: kill a job before each of its changes on disk, resume it, and compare the files.

Arguments: an empty folder and the suffix. Prints how many places it was killed at.
"""

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.embed.vectors_files.records import write

_CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def _in_child(work: Callable[[], object]) -> int:
    """Return how a process ended that did the work: 0, or minus the number of the signal."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _die_before(change: int, folder: Path) -> None:
    """Let this process be killed when it is about to make a change, counted from 0, in a folder."""
    changes = itertools.count()

    def watch(event: str, args: tuple[object, ...]) -> None:
        ours = event in _CHANGES and str(args[0]).startswith(f"{folder}{os.sep}")
        if ours and next(changes) == change:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _killed_job(target: Path, change: int) -> None:
    _die_before(change, target.parent)
    write(target)


def main(folder: Path, suffix: str) -> None:
    undisturbed = folder / f"undisturbed{suffix}"
    assert _in_child(partial(write, undisturbed)) == 0
    for change in itertools.count():
        place = folder / str(change)
        place.mkdir()
        target = place / f"v{suffix}"
        target.write_bytes(b"older")

        ended = _in_child(partial(_killed_job, target, change))
        assert ended in (0, -signal.SIGKILL), f"the job ended with {ended}"
        if ended != 0:
            assert target.read_bytes() in (b"older", undisturbed.read_bytes()), f"at {change}"
            assert _in_child(partial(write, target, resume=True)) == 0, f"at {change}"
        assert target.read_bytes() == undisturbed.read_bytes(), f"after a kill at {change}"
        left = [path.name for path in place.iterdir()]
        assert left == [target.name], f"after a kill at {change} there is {left}"
        shutil.rmtree(place)
        if ended == 0:
            sys.stdout.write(f"{change}\n")
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
