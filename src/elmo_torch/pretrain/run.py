"""A pre-training run in a folder: encoded corpus, vocabulary, training state, log, and the model it ends in."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from elmo_torch.errors import TrainingError
from elmo_torch.files import writing_whole
from elmo_torch.formats.checkpoint import Checkpoint, save_checkpoint
from elmo_torch.pretrain.config import Recipe
from elmo_torch.pretrain.corpus import EncodedCorpus, encode_corpus
from elmo_torch.pretrain.perplexity import HeldOutLoss, evaluate, unigram_perplexity
from elmo_torch.pretrain.trainer import StepReport, Trainer
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.readers import DecodeErrors, Sentence, read_documents

__all__ = ["PretrainingRun"]

_LOG_EVERY_STEPS = 10


class PretrainingRun:
    """One run; ``prepare``, then ``train`` to the end or until stopped, then ``finish``."""

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self.folder = folder
        self.recipe = recipe
        self.state_path = folder / "state.pt"
        self.model_folder = folder / "model"
        self._corpus_folder = folder / "corpus"

    def prepare(
        self,
        corpus_paths: Sequence[Path | str],
        *,
        resume: bool,
        errors: DecodeErrors = "strict",
        progress: Callable[[int], None] = lambda tokens: None,
    ) -> None:
        """Encode the corpus, or take up an earlier run's; TrainingError if the two do not fit."""
        if self.state_path.exists() and not resume:
            raise TrainingError(
                f"{self.folder}: holds a run already; continue it with --resume or give another folder"
            )
        if resume and not self.state_path.exists():
            raise TrainingError(f"{self.folder}: holds no run to resume; start without --resume")
        source = _fingerprint(corpus_paths)
        source_path = self._corpus_folder / "source.json"
        if not source_path.exists():
            encode_corpus(
                read_documents(corpus_paths, errors=errors), self._corpus_folder, progress=progress
            )
            with writing_whole(source_path) as partial:
                partial.write_text(json.dumps(source), encoding="utf-8")
        elif json.loads(source_path.read_text(encoding="utf-8")) != source:
            raise TrainingError(
                f"{self.folder}: was begun with another corpus (names or sizes differ); "
                "give the same files, or another folder"
            )
        self.corpus = EncodedCorpus.open(self._corpus_folder)
        self.vocabulary = self.corpus.vocabulary(self.recipe.training.vocab_size)
        self.trainer = Trainer(self.recipe, self.corpus, self.vocabulary)
        if resume:
            self.trainer.resume(self.state_path)

    def train(self) -> Iterator[StepReport]:
        """Train, log and save; leaving the loop between two reports loses nothing that ``save`` keeps."""
        training = self.recipe.training
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            for report in self.trainer.steps():
                if report.step % _LOG_EVERY_STEPS == 0:
                    record = asdict(report) | {"tokens": report.step * training.tokens_per_step}
                    log.write(json.dumps(record) + "\n")
                    log.flush()
                if report.step % training.save_every_steps == 0:
                    self.save()
                yield report

    def save(self) -> None:
        """Write the training state."""
        self.trainer.save(self.state_path)

    def finish(self, provenance: dict[str, Any]) -> None:
        """Write the trained model to ``model_folder``."""
        self.save()
        model = self.trainer.model
        save_checkpoint(
            Checkpoint(
                config=self.recipe.model,
                state_dict=model.bilm.state_dict(),
                source=str(self.folder),
                format="native",
                provenance=provenance,
                softmax=model.softmax.state_dict(),
                vocabulary=self.vocabulary,
            ),
            self.model_folder,
        )

    @torch.inference_mode()
    def evaluate(
        self, sentences: Sequence[Sentence], progress: Callable[[int], None] = lambda tokens: None
    ) -> tuple[HeldOutLoss, float]:
        """Return the held-out loss, and the perplexity of word frequencies alone on the same targets."""
        model = self.trainer.model
        encoder = self.recipe.model.token_encoder
        frozen = FrozenBiLm(model.bilm, CharIds(encoder.max_chars))  # type: ignore[union-attr]
        loss = evaluate(frozen, model.softmax, self.vocabulary, sentences, progress=progress)
        return loss, unigram_perplexity(self.corpus, self.vocabulary, sentences)


def _fingerprint(paths: Sequence[Path | str]) -> list[list[str | int]]:
    """Return names and sizes of the files; a missing one is found when it is read."""
    return [
        [Path(path).name, Path(path).stat().st_size if Path(path).is_file() else 0]
        for path in paths
    ]
