"""``elmo evaluate``: the perplexity of a text under a model."""

from typing import TYPE_CHECKING, Annotated

import typer

from elmo_torch.cli.console import note, progress_bar
from elmo_torch.cli.options import Device, Errors, Threads, use_threads

if TYPE_CHECKING:
    from elmo_torch.pretrain.perplexity import HeldOutLoss

__all__ = ["evaluate", "print_perplexities"]


def evaluate(
    model: Annotated[str, typer.Argument(help="Name or path of a model with its softmax.")],
    text: Annotated[
        str, typer.Argument(help="Text file, a sentence a line; - for standard input.")
    ],
    device: Device = "cpu",
    threads: Threads = None,
    errors: Errors = "strict",
) -> None:
    """Print forward, backward and mean perplexity by the full softmax, each sentence on its own.

    The mean is the geometric one: exp of the mean of both losses.
    """
    from elmo_torch.embed.catalogue import find_model
    from elmo_torch.formats.checkpoint import load_checkpoint
    from elmo_torch.pretrain import perplexity
    from elmo_torch.runtime.device import checked_device
    from elmo_torch.runtime.frozen import FrozenBiLm
    from elmo_torch.text.readers import read_sentences

    use_threads(threads)
    where = checked_device(device)
    checkpoint = load_checkpoint(find_model(model), language_model=True)
    softmax = checkpoint.softmax_layer().to(where)
    assert checkpoint.vocabulary is not None  # softmax_layer has refused a model without
    frozen = FrozenBiLm(checkpoint.bilm().to(where), checkpoint.token_ids())
    sentences = list(read_sentences(text, errors=errors))  # type: ignore[arg-type]
    with progress_bar("evaluate", sum(map(len, sentences))) as advance:
        loss = perplexity.evaluate(
            frozen, softmax, checkpoint.vocabulary, sentences, progress=advance
        )
    note(
        f"{loss.num_targets:,} targets a direction, softmax over {len(checkpoint.vocabulary):,} words, "
        "every sentence from the zero state"
    )
    print_perplexities(loss)


def print_perplexities(loss: "HeldOutLoss") -> None:
    """Print the three perplexities, one a line."""
    print(f"forward perplexity {loss.forward_perplexity:.2f}")
    print(f"backward perplexity {loss.backward_perplexity:.2f}")
    print(f"mean perplexity {loss.mean_perplexity:.2f}")
