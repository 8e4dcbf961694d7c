"""``elmo embed``: a text to a file of vectors."""

import hashlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from elmo_torch.cli.console import note, progress_bar
from elmo_torch.cli.options import (
    Device,
    Errors,
    MaxBatchTokens,
    Model,
    PrecisionOption,
    Threads,
    use_threads,
)
from elmo_torch.errors import InputError

if TYPE_CHECKING:
    from elmo_torch.runtime.selection import Layers
    from elmo_torch.text.readers import Sentence

__all__ = ["embed"]


def embed(
    text: Annotated[str, typer.Argument(help="Text file (.gz .xz .zst too), a sentence a line; - for standard input.")],
    output: Annotated[str, typer.Option("--output", "-o", help="File of vectors: .h5 .parquet .npz .jsonl; - for JSON lines on standard output.")],
    model: Model = "mini-en",
    layers: Annotated[str, typer.Option("--layers", help="all, top, average, or numbers as 0,2.")] = "all",
    dtype: Annotated[Literal["float32", "float16"], typer.Option("--dtype")] = "float32",
    raw: Annotated[bool, typer.Option("--raw", help="Running text: split it into sentences and tokens.")] = False,
    max_batch_tokens: MaxBatchTokens = 4096,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed run of the same command stopped.")] = False,
    errors: Errors = "strict",
    precision: PrecisionOption = "fp32",
    device: Device = "cpu",
    threads: Threads = None,
) -> None:  # fmt: skip
    """Write the vectors of every token. The file appears under its name when it is whole."""
    from elmo_torch.embed.embedder import Embedder
    from elmo_torch.embed.file_job import EmbedSettings, embed_file
    from elmo_torch.embed.vectors_files import check_target

    settings = EmbedSettings(
        layers=_parse_layers(layers), dtype=dtype, max_batch_tokens=max_batch_tokens
    )
    from_pipe = text == "-"
    if resume and from_pipe:
        raise InputError(
            "--resume needs a text file: what came through a pipe cannot be read again"
        )
    check_target(output)
    use_threads(threads)
    embedder = Embedder.load(model, precision=precision, device=device)  # type: ignore[arg-type]

    def read() -> "Iterator[Sentence]":
        from elmo_torch.text.readers import read_lines, split_tokens

        lines = read_lines(text, errors=errors)  # type: ignore[arg-type]
        if not raw:
            return map(split_tokens, lines)
        from elmo_torch.text.raw import raw_sentences

        return raw_sentences(lines)

    # Reading a file once beforehand finds its faults before any work, and its length for progress.
    total, identity = (None, "a pipe") if from_pipe else _scan(read())
    started = time.monotonic()
    with progress_bar("embed", total) as advance:
        counts = embed_file(
            embedder, read(), output, settings,
            source=identity, resume=resume, progress=advance,
        )  # fmt: skip
    seconds = time.monotonic() - started
    note(
        f"{counts.num_sentences:,} sentences, {counts.num_tokens:,} tokens in {seconds:.1f} s: "
        f"{counts.num_tokens / max(seconds, 1e-9):,.0f} tokens/s{_peak_memory()}"
    )


def _parse_layers(words: str) -> "Layers":
    if words in ("all", "top", "average"):
        return words  # type: ignore[return-value]
    try:
        return [int(number) for number in words.split(",")]
    except ValueError as error:
        raise InputError(
            f"--layers must be all, top, average, or numbers as 0,2; got {words}"
        ) from error


def _scan(sentences: "Iterable[Sentence]") -> tuple[int, str]:
    """Return the number of tokens, and a digest that another text would not have."""
    digest = hashlib.blake2b(digest_size=16)
    num_tokens = 0
    for sentence in sentences:
        num_tokens += len(sentence)
        digest.update(" ".join(sentence).encode() + b"\n")
    return num_tokens, digest.hexdigest()


def _peak_memory() -> str:
    """Return the most memory that this process has held, where the system tells."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f", peak memory {peak / 1e6 if sys.platform == 'darwin' else peak * 1024 / 1e6:,.0f} MB"
