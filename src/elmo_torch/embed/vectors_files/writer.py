"""What all writers of vectors have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from elmo_torch.embed.representations import Representations
from elmo_torch.errors import OutputError

__all__ = ["VectorsWriter", "errors_naming"]


class VectorsWriter(ABC):
    """Takes the windows of a text in order; the file is there, whole, after ``finish``.

    A context manager: leaving it without ``finish`` leaves nothing under the file's name.
    """

    @property
    def parts_done(self) -> int:
        """Windows that an earlier, killed run has left on disk: not to be written again."""
        return 0

    @abstractmethod
    def write_part(self, first_sentence: int, results: Sequence[Representations]) -> None:
        """Write one window, whose first sentence has this number in the text."""

    @abstractmethod
    def finish(self) -> None:
        """Make the file, and put it in the place of an older one at once."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open; without ``finish`` before, what was written is not the file."""

    def __enter__(self) -> "VectorsWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def errors_naming(place: Path | str) -> Iterator[None]:
    """Turn what the system refuses into an OutputError of one line that names the place.

    BrokenPipeError passes: who reads standard output may stop at any time.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{place}: cannot be written: {error.strerror or error}") from error
