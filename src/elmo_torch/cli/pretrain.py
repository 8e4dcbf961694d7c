"""``elmo pretrain``: a new biLM from text."""

import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from elmo_torch.cli.console import EXIT_INTERRUPTED, note, progress_bar
from elmo_torch.cli.evaluate import print_perplexities
from elmo_torch.cli.options import Errors, Threads, use_threads

if TYPE_CHECKING:
    from elmo_torch.pretrain.run import PretrainingRun

__all__ = ["pretrain"]


def pretrain(
    corpus: Annotated[
        list[str],
        typer.Argument(help="Text files (.gz .xz .zst too): a sentence a line, a blank line between documents."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run; the model is its model/.")],
    held_out: Annotated[str | None, typer.Option("--held-out", help="Text whose perplexity is printed at the end.")] = None,
    recipe: Annotated[str, typer.Option("--recipe", help="Name of a recipe, or a TOML file: the model's sizes and how to train it.")] = "mini-en",
    tokens: Annotated[int | None, typer.Option("--tokens", min=1, help="Length of the run.")] = None,
    vocab_size: Annotated[int | None, typer.Option("--vocab-size", min=4, help="Words of the softmax.")] = None,
    num_samples: Annotated[int | None, typer.Option("--num-samples", min=1, help="Negative samples a step.")] = None,
    num_streams: Annotated[int | None, typer.Option("--num-streams", min=1, help="Rows of the batch.")] = None,
    state: Annotated[
        Literal["mixed", "carried"] | None,
        typer.Option("--state", help="mixed: zero state at half of the sentence starts; carried: never, as bilm-tf."),
    ] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate")] = None,
    precision: Annotated[Literal["fp32", "bf16"] | None, typer.Option("--precision", help="Number format of products.")] = None,
    seed: Annotated[int | None, typer.Option("--seed")] = None,
    save_every_steps: Annotated[int | None, typer.Option("--save-every-steps", min=1)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    errors: Errors = "strict",
    threads: Threads = None,
) -> None:  # fmt: skip
    """Train a biLM with its softmax; Ctrl-C saves, --resume goes on.

    The loss shown while training is a sampled estimate; perplexities are printed at the end, by the
    full softmax on held-out text.
    """
    from elmo_torch.errors import TrainingError
    from elmo_torch.pretrain.config import load_recipe
    from elmo_torch.pretrain.run import PretrainingRun
    from elmo_torch.text.readers import read_sentences

    use_threads(threads)
    chosen = load_recipe(recipe).with_training(
        num_tokens=tokens,
        vocab_size=vocab_size,
        num_samples=num_samples,
        num_streams=num_streams,
        state=state,
        learning_rate=learning_rate,
        precision=precision,
        seed=seed,
        save_every_steps=save_every_steps,
    )
    held_out_sentences = [] if held_out is None else list(read_sentences(held_out, errors=errors))  # type: ignore[arg-type]
    run = PretrainingRun(output, chosen)
    if run.model_folder.exists():
        raise TrainingError(f"{output}: this run is complete; its model is in {run.model_folder}")
    with progress_bar("read corpus", None) as advance:
        run.prepare(corpus, resume=resume, errors=errors, progress=advance)  # type: ignore[arg-type]
    note(
        f"{len(run.corpus.ids):,} tokens, {len(run.corpus.word_types):,} word types, "
        f"softmax over {len(run.vocabulary):,} words; {chosen.training.num_steps:,} steps"
    )
    if not _train(run):
        note(f"stopped at step {run.trainer.step:,} and saved; go on with --resume")
        raise typer.Exit(EXIT_INTERRUPTED)
    perplexities = {}
    if held_out_sentences:
        with progress_bar("evaluate", sum(map(len, held_out_sentences))) as advance:
            loss, unigram = run.evaluate(held_out_sentences, advance)
        note(f"held-out perplexity by the full softmax ({loss.num_targets:,} targets a direction):")
        print_perplexities(loss)
        print(f"unigram perplexity {unigram:.2f}")
        perplexities = {
            "forward perplexity": round(loss.forward_perplexity, 2),
            "backward perplexity": round(loss.backward_perplexity, 2),
            "mean perplexity": round(loss.mean_perplexity, 2),
            "unigram perplexity": round(unigram, 2),
            "held-out text": Path(held_out or "").name,
        }
    run.finish({"training tokens": chosen.training.num_tokens, **perplexities})
    note(f"wrote {run.model_folder}; the training state is no longer needed")


def _train(run: "PretrainingRun") -> bool:
    """Train to the end, or to the first interrupt; return whether the run is complete."""
    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    training = run.recipe.training
    try:
        with progress_bar("train", training.num_steps * training.tokens_per_step) as advance:
            advance(run.trainer.step * training.tokens_per_step)
            for report in run.train():
                advance(training.tokens_per_step)
                if report.step % 100 == 0:
                    loss = (report.forward_loss + report.backward_loss) / 2
                    note(f"step {report.step:,}  sampled loss {loss:.3f}")
                if stopped:
                    run.save()
                    return False
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return True
