"""Options that several commands share."""

from typing import Annotated

import typer

__all__ = [
    "Device",
    "Errors",
    "MaxBatchTokens",
    "Model",
    "PrecisionOption",
    "Threads",
    "use_threads",
]

Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="Name of a bundled model, or path to a folder, archive, weights file, or OPTIONS,WEIGHTS.",
    ),
]
PrecisionOption = Annotated[
    str, typer.Option("--precision", help="Number format of the run: fp32.")
]
Device = Annotated[str, typer.Option("--device", help="Where to run: cpu, cuda, ...")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads; default: one a core.")
]
MaxBatchTokens = Annotated[
    int, typer.Option("--max-batch-tokens", min=1, help="Most padded tokens in one model call.")
]
Errors = Annotated[
    str,
    typer.Option("--errors", help="Bytes that are not UTF-8: strict stops, replace reads on."),
]


def use_threads(count: int | None) -> None:
    """Set the number of CPU threads of this process."""
    if count is not None:
        import torch

        torch.set_num_threads(count)
