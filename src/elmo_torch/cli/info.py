"""``elmo info``: what a model is."""

from typing import Annotated

import typer

__all__ = ["info"]


def info(
    model: Annotated[str, typer.Argument(help="Name of a bundled model, or a path.")] = "mini-en",
) -> None:
    """Show a model's sizes, format, origin, and whether it can score words."""
    from rich.console import Console
    from rich.table import Table

    from elmo_torch.embed.catalogue import find_model
    from elmo_torch.formats.checkpoint import load_checkpoint
    from elmo_torch.formats.description import describe

    table = Table("name", "value", show_header=False, box=None, pad_edge=False)
    table.columns[1].overflow = "fold"  # a long path goes on in the next line, whole
    for name, value in describe(load_checkpoint(find_model(model), language_model=True)):
        table.add_row(name, value)
    Console(highlight=False, soft_wrap=True).print(table)
