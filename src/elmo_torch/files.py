"""Files written whole or not at all: under another name first, renamed when complete."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elmo_torch.errors import OutputError

__all__ = ["writing_whole"]


@contextmanager
def writing_whole(path: Path) -> Iterator[Path]:
    """Give a path beside ``path`` to write to; it takes the final name when the block ends well.

    OutputError if the place cannot be written; whatever goes wrong, nothing half-written is left.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # a place that refuses this too has said why already
            partial.unlink(missing_ok=True)
