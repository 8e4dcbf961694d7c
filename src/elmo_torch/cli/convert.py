"""``elmo convert``: a model from one format to another."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from elmo_torch.cli.console import note

__all__ = ["convert"]


def convert(
    source: Annotated[str, typer.Argument(help="Name or path of any model that is read.")],
    target: Annotated[Path, typer.Argument(help="Folder to make.")],
    to: Annotated[
        Literal["native", "bilm"],
        typer.Option(
            "--to",
            help="native: config.json + model.safetensors; bilm: options.json + weights.hdf5.",
        ),
    ] = "native",
    dtype: Annotated[
        Literal["float32", "bfloat16"],
        typer.Option("--dtype", help="Rounding of the weights in the native format."),
    ] = "float32",
) -> None:
    """Write a model in our format, or as the pair of files that AllenNLP and bilm-tf load."""
    import torch

    from elmo_torch.embed.catalogue import find_model
    from elmo_torch.errors import InputError
    from elmo_torch.formats.checkpoint import load_checkpoint, save_checkpoint

    if to == "bilm" and dtype != "float32":
        raise InputError("--dtype applies to --to native; weights.hdf5 is always float32")
    checkpoint = load_checkpoint(find_model(source), language_model=True)
    save_checkpoint(checkpoint, target, format=to, dtype=getattr(torch, dtype))
    note(f"wrote {target}: {', '.join(sorted(path.name for path in target.iterdir()))}")
