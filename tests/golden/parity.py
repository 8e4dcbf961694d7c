"""How far a model is from what a peer gave."""

from dataclasses import dataclass

import torch

from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.nn.carried_state import CarriedState
from elmo_torch.text.char_ids import CharIds
from tests.golden.peers import PeerRun
from tests.helpers import largest_difference, pad

__all__ = ["TOLERANCE", "Distance", "distance"]

# The peers differ from themselves in float64 by up to 2.0e-6, and from one another by up to 2.9e-6
# (fixtures/golden/README.md). The mildest mistake of the table in mistakes.py moves a result by
# 4.3e-4, so this bound lets none of them pass.
TOLERANCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class Distance:
    """Largest absolute differences over a whole run."""

    layers: float
    state: float | None  # None: the peer's state was not recorded


def distance(bilm: BiLm, run: PeerRun, *, carried: bool | None = None) -> Distance:
    """Read the run's batches in order; ``carried`` False forgets the state after each of them."""
    carry = run.carried if carried is None else carried
    encoder = CharIds()
    kept = CarriedState()
    layers: list[float] = []
    states: list[float] = []
    for batch in run.batches:
        framed = [["<S>", *sentence, "</S>"] for sentence in batch.sentences]
        ids = pad([torch.from_numpy(encoder.encode(words)) for words in framed])
        output = bilm(ids, kept.rows(bilm.lstm.zero_state(len(framed))))
        for row, (words, expected) in enumerate(zip(framed, batch.rows, strict=True)):
            ours = output.layers[-len(expected) :, row, : len(words)]
            layers.append(largest_difference(ours if run.boundaries else ours[:, 1:-1], expected))
        if carry:
            kept.update(output.state)
        if batch.state is not None:
            assert kept.stored is not None
            states.append(_state_difference(kept.stored, batch.state))
    return Distance(layers=max(layers), state=max(states) if states else None)


def _state_difference(one: BiLmState, other: BiLmState) -> float:
    return max(
        largest_difference(one.hidden, other.hidden), largest_difference(one.memory, other.memory)
    )
