"""The training loop: windows of the corpus through the joint objective, saved so that it can go on."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from elmo_torch.errors import TrainingError
from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.softmax import SoftmaxLayer, draw_negatives
from elmo_torch.pretrain.config import Recipe
from elmo_torch.pretrain.corpus import EncodedCorpus
from elmo_torch.pretrain.objective import DirectionInput, LanguageModel, joint_loss
from elmo_torch.pretrain.state import TrainingState, load_state, save_state
from elmo_torch.pretrain.streams import NO_TARGET, TokenStreams, Window, window_types
from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.vocabulary import Vocabulary

__all__ = ["StepReport", "Trainer"]

_RESET_PROBABILITY = 0.5  # of a stream's state at a sentence start, under the "mixed" rule


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """What one optimiser step saw; the losses are sampled estimates, no perplexities."""

    step: int  # steps done, this one included
    forward_loss: float  # nats per target
    backward_loss: float
    gradient_norm: float  # before clipping
    learning_rate: float


class Trainer:
    """One run: ``steps()`` trains and yields reports, ``save()`` writes the state it would resume from."""

    def __init__(self, recipe: Recipe, corpus: EncodedCorpus, vocabulary: Vocabulary) -> None:
        model, training = recipe.model, recipe.training
        if not isinstance(model.token_encoder, CharCnnConfig):
            raise TrainingError("pre-training needs a model with a char CNN")
        if training.num_samples >= len(vocabulary):
            raise TrainingError(
                f"num_samples ({training.num_samples}) must be below the vocabulary's size, which is "
                f"{len(vocabulary)} for this corpus"
            )
        self.recipe = recipe
        self.step = 0
        self._corpus = corpus
        self._word_of_type = torch.from_numpy(vocabulary.ids(corpus.word_types))
        self._char_ids = CharIds(model.token_encoder.max_chars)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(training.seed)
            self.model = LanguageModel(
                BiLm(model),
                SoftmaxLayer(vocab_size=len(vocabulary), projection_dim=model.lstm.projection_dim),
            )
            self._dropout_rng = torch.get_rng_state()
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
            fused=True,
        )
        self._streams = self._open_streams()
        self._state = self.model.bilm.lstm.zero_state(training.num_streams)
        self._negatives = torch.Generator().manual_seed(training.seed)
        self._resets = np.random.default_rng(training.seed)

    def steps(self) -> Iterator[StepReport]:
        """Train to the end of the run; stop early by leaving the loop."""
        while self.step < self.recipe.training.num_steps:
            yield self._train_step()

    def _train_step(self) -> StepReport:
        training = self.recipe.training
        windows = self._streams.next_windows()
        types, places = window_types(*windows)
        char_ids = torch.from_numpy(
            self._char_ids.encode([self._corpus.word_types[index] for index in types])
        )
        forward, backward = map(self._direction, windows, places)
        vocab_size = len(self.model.softmax.bias)
        drawn = [draw_negatives(training.num_samples, vocab_size, self._negatives) for _ in windows]
        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate()
        with (
            torch.random.fork_rng(devices=[]),
            torch.autocast("cpu", torch.bfloat16, enabled=training.precision == "bf16"),
        ):
            torch.set_rng_state(self._dropout_rng)
            loss = joint_loss(
                self.model,
                char_ids,
                (forward, backward),
                (drawn[0], drawn[1]),
                self._state,
                dropout=training.dropout,
            )
            self._dropout_rng = torch.get_rng_state()
        if not torch.isfinite(loss.total):
            raise TrainingError(
                f"the loss is {loss.total.item()} at step {self.step}; the last saved state is whole: "
                "start again with a lower learning_rate or max_grad_norm"
            )
        self._optimizer.zero_grad()
        torch.autograd.backward(loss.total)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), training.max_grad_norm)
        self._optimizer.step()
        self._state = BiLmState(hidden=loss.state.hidden.float(), memory=loss.state.memory.float())
        self.step += 1
        return StepReport(
            step=self.step,
            forward_loss=loss.forward.item(),
            backward_loss=loss.backward.item(),
            gradient_norm=norm.item(),
            learning_rate=self._optimizer.param_groups[0]["lr"],
        )

    def _direction(self, window: Window, places: NDArray[np.int64]) -> DirectionInput:
        words = self._word_of_type[torch.from_numpy(window.targets)]
        targets = torch.where(torch.from_numpy(window.targets) == NO_TARGET, NO_TARGET, words)
        reset = np.zeros_like(window.starts)
        if self.recipe.training.state == "mixed":
            reset = window.starts & (self._resets.random(window.starts.shape) < _RESET_PROBABILITY)
        return DirectionInput(
            places=torch.from_numpy(places), targets=targets, keep=torch.from_numpy(~reset)
        )

    def _learning_rate(self) -> float:
        training = self.recipe.training
        warm = min(1.0, (self.step + 1) / max(training.lr_warmup_steps, 1))
        progress = self.step / training.num_steps
        return training.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * progress))

    def _open_streams(self, state: TrainingState | None = None) -> TokenStreams:
        training = self.recipe.training
        return TokenStreams(
            self._corpus,
            num_streams=training.num_streams,
            window_tokens=training.window_tokens,
            seed=training.seed,
            position=None if state is None else state.position,
        )

    def save(self, path: Path) -> None:
        """Write the training state; the file at ``path`` is whole at every moment."""
        save_state(
            TrainingState(
                step=self.step,
                recipe=self.recipe.to_dict(),
                model=self.model.state_dict(),
                optimizer=self._optimizer.state_dict(),
                position=self._streams.position,
                lstm=self._state,
                negatives_rng=self._negatives.get_state(),
                dropout_rng=self._dropout_rng,
                resets_rng=self._resets.bit_generator.state,
            ),
            path,
        )

    def resume(self, path: Path) -> None:
        """Take up a saved state; TrainingError if it is of another recipe."""
        state = load_state(path)
        ours = self.recipe.to_dict()
        if state.recipe != ours:
            raise TrainingError(
                f"{path}: was saved by a run with other settings; resume with the same recipe and "
                "options, or start a new run in another folder"
            )
        self.step = state.step
        self.model.load_state_dict(state.model)
        self._optimizer.load_state_dict(dict(state.optimizer))
        self._streams = self._open_streams(state)
        self._state = state.lstm
        self._negatives.set_state(state.negatives_rng)
        self._dropout_rng = state.dropout_rng
        self._resets.bit_generator.state = state.resets_rng
