"""A vectors file made of parts, so that a killed run can go on after the last one.

Beside OUT stands the folder OUT.partial with ``run.json`` (the settings) and one file a window of
sentences, each written whole. ``finish`` merges them there, renames the result to OUT, and removes
the folder. Whatever ends the run before that, the parts stay.
"""

import fcntl
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Protocol

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.embed.vectors_files.writer import VectorsWriter, errors_naming
from elmo_torch.errors import OutputError
from elmo_torch.files import writing_whole

__all__ = ["PartsFormat", "PartsWriter"]

_RUN, _MERGED, _LOCK = "run.json", "merged", "lock"
_OURS = re.compile(r"(part-\d{6,}\.\w+|run\.json|merged)(\.partial)?")


class PartsFormat(Protocol):
    """A format whose file can be put together from parts."""

    def write_part(
        self, path: Path, first_sentence: int, results: Sequence[Representations]
    ) -> None:
        """Write one window as a file of its own."""

    def merge(self, parts: Sequence[Path], path: Path) -> None:
        """Write the whole from its parts, in memory that does not grow with their number."""


class PartsWriter(VectorsWriter):
    """Writes each window as a part; knows at the start how many an earlier run has left."""

    def __init__(
        self,
        target: Path,
        layout: VectorsLayout,
        make_format: Callable[[VectorsLayout], PartsFormat],
        *,
        settings: Mapping[str, object],
        resume: bool,
    ) -> None:
        self._target = target
        self._folder = target.with_name(target.name + ".partial")
        self._format = make_format(layout)
        run = json.loads(json.dumps({**settings, **_as_settings(layout)}))
        with errors_naming(self._folder):
            self._folder.mkdir(exist_ok=True)
            self._lock = _take(self._folder / _LOCK)
        try:
            with errors_naming(self._folder):
                done = self._parts_of(run) if resume else None
                self._parts_done = 0 if done is None else len(done)
                if done is None:
                    self._remove_all_but(set())
                    with writing_whole(self._folder / _RUN) as path:
                        path.write_text(json.dumps(run, indent=1), encoding="utf-8")
                else:
                    self._remove_all_but({self._folder / _RUN, *done})
        except BaseException:
            self._lock.close()
            raise
        self._num_parts = self._parts_done

    @property
    def parts_done(self) -> int:
        """Windows that an earlier, killed run has left on disk."""
        return self._parts_done

    def write_part(self, first_sentence: int, results: Sequence[Representations]) -> None:
        """Write the next window; once this returns, a resumed run need not make it again."""
        with writing_whole(self._part(self._num_parts)) as path:
            self._format.write_part(path, first_sentence, results)
        self._num_parts += 1

    def finish(self) -> None:
        """Merge the parts, rename the result to the target, and remove the folder."""
        merged = self._folder / _MERGED
        with writing_whole(merged) as path:
            self._format.merge([self._part(number) for number in range(self._num_parts)], path)
        with errors_naming(self._target):
            merged.replace(self._target)
        with suppress(OSError):  # the vectors are there: what cannot be removed is no failure
            self._remove_all_but(set())
            (self._folder / _LOCK).unlink()
            self._folder.rmdir()

    def close(self) -> None:
        """Let another run have the folder."""
        self._lock.close()

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:06d}{self._target.suffix}"

    def _parts_of(self, run: Mapping[str, object]) -> list[Path] | None:
        """Return the parts up to the first gap; OutputError if another run made them.

        None: no run has come as far as writing its settings.
        """
        path = self._folder / _RUN
        if not path.exists():
            return None
        try:
            earlier = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise OutputError(f"{path}: is damaged; start anew, without resume") from error
        for name in {**run, **earlier}:
            if earlier.get(name) != run.get(name):
                raise OutputError(
                    f"{self._target}: cannot be resumed: the killed run had {name} "
                    f"{json.dumps(earlier.get(name))}, this one has {json.dumps(run.get(name))}; "
                    "use the same settings, or start anew, without resume"
                )
        return list(itertools.takewhile(Path.exists, map(self._part, itertools.count())))

    def _remove_all_but(self, kept: Set[Path]) -> None:
        """Remove what is ours and leave what a user may have put into the folder.

        The settings go first: parts without them are never taken for those of another run.
        """
        for path in sorted(self._folder.iterdir(), reverse=True):
            if _OURS.fullmatch(path.name) and path not in kept:
                path.unlink()


def _as_settings(layout: VectorsLayout) -> dict[str, object]:
    return {"layer_names": layout.layer_names, "dim": layout.dim, "dtype": layout.dtype}


def _take(lock: Path) -> TextIOWrapper:
    """Return the open lock file, ours until it is closed or the process ends."""
    file = lock.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if isinstance(error, BlockingIOError):
            raise OutputError(f"{lock.parent}: another run is writing it at this moment") from error
        raise
    return file
