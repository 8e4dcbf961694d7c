"""``elmo compare``: how alike one word is in two sentences, layer by layer."""

from typing import Annotated

import typer

from elmo_torch.cli.console import note
from elmo_torch.cli.options import Device, Model, PrecisionOption, Threads, use_threads

__all__ = ["compare"]


def compare(
    sentences: Annotated[
        list[str], typer.Argument(help="Two sentences or more, tokens parted by spaces.")
    ],
    word: Annotated[str, typer.Option("--word", help="A token that stands in every sentence.")],
    model: Model = "mini-en",
    precision: PrecisionOption = "fp32",
    device: Device = "cpu",
    threads: Threads = None,
) -> None:
    """Show the cosines of a word's vectors in different sentences, for every layer.

    The token layer knows the spelling alone, so there the cosine is 1; the layers above know the
    context.
    """
    from rich.console import Console
    from rich.table import Table

    from elmo_torch.embed.comparison import compare_word
    from elmo_torch.embed.embedder import Embedder
    from elmo_torch.text.readers import split_tokens

    use_threads(threads)
    embedder = Embedder.load(model, precision=precision, device=device)  # type: ignore[arg-type]
    pairs = compare_word(embedder, [split_tokens(sentence) for sentence in sentences], word)
    table = Table(title=f'cosine of "{word}"', title_justify="left")
    table.add_column("sentences")
    for layer in range(embedder.num_layers):
        table.add_column("token layer" if layer == 0 else f"layer {layer}", justify="right")
    for pair in pairs:
        cosines = (f"{cosine:.3f}" for cosine in pair.cosines)
        table.add_row(f"{pair.first + 1} and {pair.second + 1}", *cosines)
    console = Console(highlight=False)
    for number, sentence in enumerate(sentences, start=1):
        console.print(f"{number}: {sentence}", markup=False)
    console.print(table)
    if embedder.num_layers > 1:
        note("1.000 is the same direction; lower is less alike")
