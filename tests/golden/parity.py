"""How far a reading of a model is from what a peer gave."""

from dataclasses import dataclass

from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.nn.carried_state import CarriedState
from tests.golden.peers import PeerRun
from tests.golden.readers import Reader
from tests.helpers import largest_difference

__all__ = ["RUNTIME_TOLERANCES", "TOLERANCE", "Distance", "distance"]

# The peers differ from themselves in float64 by up to 2.0e-6, and from one another by up to 2.9e-6
# (fixtures/golden/README.md). The mildest mistake of the table in mistakes.py moves a result by
# 4.3e-4, so this bound lets none of them pass.
TOLERANCE = 1e-5

# Of the runtime. fp32 as above (measured 6.2e-6). bf16 and int8 keep 8 and 7 bits of what a product
# reads: measured 0.06 and 0.14 on values up to 4.6, for these models have weights drawn so that the
# clips act. A missing forget bias, the wrong order of gates or a lost state moves them by 0.4 to 5;
# finer mistakes are fp32's to see, which is the same code but for the products.
RUNTIME_TOLERANCES: dict[Precision, float] = {"fp32": TOLERANCE, "bf16": 0.1, "int8": 0.2}


@dataclass(frozen=True, kw_only=True)
class Distance:
    """Largest absolute differences over a whole run."""

    layers: float
    state: float | None  # None: the peer's state was not recorded


def distance(reader: Reader, run: PeerRun, *, carried: bool | None = None) -> Distance:
    """Read the run's batches in order; ``carried`` False forgets the state after each of them."""
    carry = run.carried if carried is None else carried
    kept = CarriedState()
    layers: list[float] = []
    states: list[float] = []
    for batch in run.batches:
        start = kept.rows(reader.zero_state(len(batch.sentences)))
        rows, state = reader.read(batch.sentences, start)
        for ours, expected in zip(rows, batch.rows, strict=True):
            known = ours[-len(expected) :]
            layers.append(largest_difference(known if run.boundaries else known[:, 1:-1], expected))
        if carry:
            kept.update(state)
        if batch.state is not None:
            assert kept.stored is not None
            states.append(_state_difference(kept.stored, batch.state))
    return Distance(layers=max(layers), state=max(states) if states else None)


def _state_difference(one: BiLmState, other: BiLmState) -> float:
    return max(
        largest_difference(one.hidden, other.hidden), largest_difference(one.memory, other.memory)
    )
