"""How commands speak: results on standard output, notes and progress on standard error, exit codes."""

import errno
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from elmo_torch.errors import ElmoError

__all__ = ["EXIT_INTERRUPTED", "EXIT_OURS", "EXIT_USER", "guarded", "note", "notes", "progress_bar"]

EXIT_OURS, EXIT_USER, EXIT_INTERRUPTED = 1, 2, 130

notes = Console(stderr=True, highlight=False, soft_wrap=True)


def note(message: str) -> None:
    """Print a line for the person at the terminal, not for what reads the results."""
    notes.print(message, markup=False)


@contextmanager
def progress_bar(description: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress with the time left while the block runs; the given function takes tokens done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tokens"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=notes, transient=True, disable=not notes.is_terminal
    ) as progress:
        task = progress.add_task(description, total=total)
        yield lambda tokens: progress.advance(task, tokens)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with every error turned into one line and an exit code."""

    @functools.wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            command(*args, **options)
        except typer.Exit:
            raise
        except BaseException as error:
            if os.environ.get("ELMO_TRACEBACK"):
                raise
            message, code = _explain(error)
            if message:
                note(f"elmo: {' '.join(message.split())}")
            _drop_unwritable_output()
            raise typer.Exit(code) from None

    return run


def _explain(error: BaseException) -> tuple[str, int]:
    """Return the line for the user and the exit code."""
    match error:
        case ElmoError():
            return str(error), EXIT_USER
        case KeyboardInterrupt():
            return "interrupted", EXIT_INTERRUPTED
        case BrokenPipeError():
            return "", EXIT_USER  # the reader has gone, as in `elmo embed ... | head`
        case OSError(errno=errno.ENOSPC):
            return f"{error.filename or 'output'}: the disk is full", EXIT_USER
        case OSError() if error.filename is not None:
            return f"{error.filename}: {error.strerror}", EXIT_USER
        case MemoryError():
            return "not enough memory; a smaller --max-batch-tokens needs less", EXIT_USER
    return (
        f"unexpected {type(error).__name__}: {error} "
        "(a fault of elmo-torch; run again with ELMO_TRACEBACK=1 to see where)"
    ), EXIT_OURS


def _drop_unwritable_output() -> None:
    """Leave nothing in standard output's buffer that would fail again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
