"""State kept from batch to batch: row k of a batch goes on from row k of the batches before it.

The ancestors always work so (bilm-tf, AllenNLP). A batch may have fewer or more rows than the one
before: rows that a batch does not use keep their state, rows never used start from zero.
"""

import torch
from torch import Tensor

from elmo_torch.nn.bilstmp import BiLmState

__all__ = ["CarriedState"]


class CarriedState:
    """The rows' states, as many as the largest batch so far."""

    def __init__(self) -> None:
        self._stored: BiLmState | None = None

    @property
    def stored(self) -> BiLmState | None:
        """All rows, or None before the first batch."""
        return self._stored

    def rows(self, zero: BiLmState) -> BiLmState:
        """Return the state that a batch starts from, given the zero state of that batch.

        It comes back on the device and in the dtype of ``zero``, so a model may be moved between batches.
        """
        if self._stored is None:
            return zero
        batch = zero.hidden.shape[1]
        return BiLmState(
            hidden=_replace_rows(zero.hidden, self._stored.hidden[:, :batch].to(zero.hidden)),
            memory=_replace_rows(zero.memory, self._stored.memory[:, :batch].to(zero.memory)),
        )

    def update(self, after: BiLmState) -> None:
        """Keep the state after a batch, without its history; rows past the batch stay as they were."""
        after = after.detach()
        if self._stored is not None:
            after = BiLmState(
                hidden=_replace_rows(self._stored.hidden.to(after.hidden), after.hidden),
                memory=_replace_rows(self._stored.memory.to(after.memory), after.memory),
            )
        self._stored = after

    def reset(self) -> None:
        """Forget everything: the next batch starts from zero."""
        self._stored = None


def _replace_rows(state: Tensor, first: Tensor) -> Tensor:
    """Return a state (layers, batch, width) whose first rows are those of ``first``."""
    return torch.cat([first, state[:, first.shape[1] :]], dim=1)
