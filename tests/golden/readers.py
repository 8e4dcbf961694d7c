"""The ways to read a batch with a model: by ``nn``, and by the frozen runtime."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers
from elmo_torch.text.char_ids import CharIds
from tests.helpers import pad

__all__ = ["FrozenReader", "PlainReader", "Reader"]


class Reader(Protocol):
    def zero_state(self, batch: int) -> BiLmState: ...

    def read(
        self, sentences: Sequence[Sequence[str]], state: BiLmState
    ) -> tuple[list[Tensor], BiLmState]:
        """Return each sentence's layers (layers, tokens + 2, dim), boundary tokens too."""
        ...


class PlainReader:
    """The model as it stands in ``nn``."""

    def __init__(self, bilm: BiLm) -> None:
        self._bilm = bilm

    def zero_state(self, batch: int) -> BiLmState:
        return self._bilm.lstm.zero_state(batch)

    def read(
        self, sentences: Sequence[Sequence[str]], state: BiLmState
    ) -> tuple[list[Tensor], BiLmState]:
        framed = [["<S>", *sentence, "</S>"] for sentence in sentences]
        ids = pad([torch.from_numpy(CharIds().encode(words)) for words in framed])
        output = self._bilm(ids, state)
        layers = [output.layers[:, row, : len(words)] for row, words in enumerate(framed)]
        return layers, output.state


class FrozenReader:
    """The runtime of ``Embedder`` and the commands."""

    def __init__(self, bilm: BiLm, precision: Precision = "fp32") -> None:
        self._frozen = FrozenBiLm(bilm, CharIds(), precision=precision)
        self._selection = select_layers("all", bilm.config.num_layers)

    def zero_state(self, batch: int) -> BiLmState:
        return self._frozen.zero_state(batch)

    def read(
        self, sentences: Sequence[Sequence[str]], state: BiLmState
    ) -> tuple[list[Tensor], BiLmState]:
        batch = self._frozen.run(sentences, self._selection, state, keep_boundaries=True)
        assert batch.state is not None
        return batch.vectors, batch.state
