"""The joint objective of the biLM on one window: log p forward + log p backward (paper, section 3.1).

Token encoder and softmax are shared by the directions, the recurrent layers are not. State is
carried from window to window, and set to zero at the sentence starts that the caller names.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState, LstmpStack
from elmo_torch.nn.softmax import Negatives, SoftmaxLayer, sampled_softmax_loss

__all__ = ["DirectionInput", "JointLoss", "LanguageModel", "joint_loss"]


class LanguageModel(nn.Module):
    """The biLM and the softmax that it is trained with."""

    def __init__(self, bilm: BiLm, softmax: SoftmaxLayer) -> None:
        super().__init__()
        self.bilm = bilm
        self.softmax = softmax


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectionInput:
    """One direction's window, in its own order of reading."""

    places: Int[Tensor, "streams window"]  # place of each token among the window's word types
    targets: Int[Tensor, "streams window"]  # word to predict; below 0: none
    keep: Bool[Tensor, "streams window"]  # False: state set to zero before this token


@dataclass(frozen=True, kw_only=True, slots=True)
class JointLoss:
    """Mean sampled loss of a target, for each direction, and the state after the window."""

    forward: Float[Tensor, ""]
    backward: Float[Tensor, ""]
    state: BiLmState

    @property
    def total(self) -> Float[Tensor, ""]:
        """The mean of the directions, which is minimised."""
        return (self.forward + self.backward) / 2


def joint_loss(
    model: LanguageModel,
    char_ids: Int[Tensor, "types chars"],
    directions: tuple[DirectionInput, DirectionInput],
    negatives: tuple[Negatives, Negatives],
    state: BiLmState,
    *,
    dropout: float = 0.0,
) -> JointLoss:
    """Return the loss of a window whose word types have the given spellings."""
    type_vectors = model.bilm.token_encoder(char_ids)  # (types, proj)
    losses, hiddens, memories = [], [], []
    halves = zip(state.hidden.chunk(2, -1), state.memory.chunk(2, -1), strict=True)
    for stack, window, drawn, (hidden, memory) in zip(
        model.bilm.lstm.stacks(), directions, negatives, halves, strict=True
    ):
        vectors = F.embedding(window.places, type_vectors)  # (streams, window, proj)
        top, hidden, memory = _read(stack, vectors, hidden, memory, window.keep, dropout)
        has_target = window.targets >= 0
        top = F.dropout(top[has_target], dropout)
        loss = sampled_softmax_loss(top, window.targets[has_target], model.softmax, drawn)
        losses.append(loss.mean())
        hiddens.append(hidden)
        memories.append(memory)
    after = BiLmState(hidden=torch.cat(hiddens, -1), memory=torch.cat(memories, -1))
    return JointLoss(forward=losses[0], backward=losses[1], state=after.detach())


def _read(
    stack: LstmpStack,
    vectors: Tensor,
    hidden: Tensor,
    memory: Tensor,
    keep: Tensor,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run one stack in its order of reading; a reversed stack reads from the end, so it is shown the mirror."""
    if stack.reverse:
        vectors, keep = vectors.flip(1), keep.flip(1)
    layers, hidden, memory = stack(vectors, hidden, memory, keep=keep, dropout=dropout)
    top = layers[-1].flip(1) if stack.reverse else layers[-1]
    return top, hidden, memory
