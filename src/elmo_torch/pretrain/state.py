"""The training state on disk: all that a run needs to go on as if it had never stopped."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmo_torch.errors import TrainingError
from elmo_torch.files import writing_whole
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.pretrain.streams import StreamPosition

__all__ = ["TrainingState", "load_state", "save_state"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingState:
    """Model, optimiser, place in the corpus, LSTM states and random generators after ``step`` steps."""

    step: int
    recipe: Mapping[str, Any]  # as plain data; a run resumes under its own recipe alone
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Any]
    position: StreamPosition
    lstm: BiLmState
    negatives_rng: Tensor  # of the generator that draws negatives
    dropout_rng: Tensor  # of PyTorch's default generator
    resets_rng: Mapping[str, Any]  # of the generator that resets states


def save_state(state: TrainingState, path: Path) -> None:
    """Write the state whole; the one before stays until the new one is complete."""
    position = state.position
    with writing_whole(path) as partial:
        torch.save(
            {
                "step": state.step,
                "recipe": json.dumps(state.recipe),
                "model": dict(state.model),
                "optimizer": dict(state.optimizer),
                "position": [
                    position.epoch,
                    position.next_document,
                    list(position.documents),
                    list(position.offsets),
                ],
                "lstm": [state.lstm.hidden, state.lstm.memory],
                "negatives_rng": state.negatives_rng,
                "dropout_rng": state.dropout_rng,
                "resets_rng": json.dumps(state.resets_rng),
            },
            partial,
        )


def load_state(path: Path) -> TrainingState:
    """Return the state of an earlier run; TrainingError if the file is missing or damaged."""
    try:
        data = torch.load(path, weights_only=True)
        epoch, next_document, documents, offsets = data["position"]
        hidden, memory = data["lstm"]
        return TrainingState(
            step=data["step"],
            recipe=json.loads(data["recipe"]),
            model=data["model"],
            optimizer=data["optimizer"],
            position=StreamPosition(
                epoch=epoch,
                next_document=next_document,
                documents=tuple(documents),
                offsets=tuple(offsets),
            ),
            lstm=BiLmState(hidden=hidden, memory=memory),
            negatives_rng=data["negatives_rng"],
            dropout_rng=data["dropout_rng"],
            resets_rng=json.loads(data["resets_rng"]),
        )
    except FileNotFoundError as error:
        raise TrainingError(
            f"{path}: no training state to resume; start without --resume"
        ) from error
    except Exception as error:  # a damaged file fails in many ways
        raise TrainingError(f"{path}: this training state is damaged: {error}") from error
