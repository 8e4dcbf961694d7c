"""The ``elmo`` command: its subcommands, each guarded so that errors become exit codes."""

import typer

from elmo_torch.cli.compare import compare
from elmo_torch.cli.console import guarded
from elmo_torch.cli.convert import convert
from elmo_torch.cli.embed import embed
from elmo_torch.cli.evaluate import evaluate
from elmo_torch.cli.info import info
from elmo_torch.cli.pretrain import pretrain

__all__ = ["app", "main"]

app = typer.Typer(
    name="elmo",
    help="Contextual word vectors from a bidirectional language model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (embed, compare, info, convert, pretrain, evaluate):
    app.command()(guarded(command))


def main() -> None:
    """Run the command line; exits with 0 done, 2 user error, 1 our error, 130 interrupted."""
    app()
