"""Deliberate mistakes, each one that a port of ELMo has made; a parity test must see every one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnn
from elmo_torch.nn.highway import Highway
from elmo_torch.nn.lstmp import FORGET_BIAS, LstmpLayer
from tests.golden.parity import distance
from tests.golden.peers import PeerRun, load_bilm
from tests.golden.readers import PlainReader

__all__ = ["MISTAKES", "Mistake"]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A wrong model, and the fixtures made by TensorFlow that show it.

    ``errors`` are the largest differences of the top layer that an independent model in NumPy
    measured for the same mistake, to three digits; None where it did not.
    """

    errors: Mapping[str, float | None]
    config: Callable[[BiLstmpConfig], BiLstmpConfig] = lambda lstm: lstm
    bend: Callable[[BiLm], None] = lambda bilm: None
    carried: bool = True

    def error(self, run: PeerRun) -> float:
        bilm = load_bilm(run.model, self.config)
        self.bend(bilm)
        return distance(PlainReader(bilm), run, carried=self.carried).layers


def _layers(bilm: BiLm) -> list[LstmpLayer]:
    return [layer for layer in bilm.lstm.modules() if isinstance(layer, LstmpLayer)]


def _drop_forget_bias(bilm: BiLm) -> None:
    for layer in _layers(bilm):
        _, forget, _, _ = layer.bias.chunk(4)
        forget -= FORGET_BIAS


def _exchange_candidate_and_forget(bilm: BiLm) -> None:
    """What a reader gets that takes the file's gates for i, f, j, o."""
    for layer in _layers(bilm):
        for weight in (layer.w_input, layer.w_hidden, layer.bias):
            i, f, g, o = weight.clone().chunk(4)
            weight.copy_(torch.cat([i, g, f, o]))


def _add_residual_to_first_layer(bilm: BiLm) -> None:
    def add_input(_: LstmpLayer, args: tuple[Tensor, ...], result: tuple[Tensor, ...]) -> Any:
        return result[0] + args[0], *result[1:]

    for stack in bilm.lstm.stacks():
        stack[0].register_forward_hook(add_input)


def _invert_highway_gates(bilm: BiLm) -> None:
    assert isinstance(bilm.token_encoder, CharCnn)
    for highway in bilm.token_encoder.highways:
        assert isinstance(highway, Highway)
        for parameter in highway.gate.parameters():
            parameter.neg_()


MISTAKES = {
    "state reset at every sentence": Mistake(
        errors={"bilm-tf": 0.79, "allennlp": 2.63}, carried=False
    ),
    "no forget bias": Mistake(errors={"bilm-tf": 0.377, "allennlp": 2.01}, bend=_drop_forget_bias),
    "gates taken for i, f, j, o": Mistake(
        errors={"bilm-tf": 1.58, "allennlp": 5.36}, bend=_exchange_candidate_and_forget
    ),
    "no clipping": Mistake(
        errors={"bilm-tf": 4.3e-4, "allennlp": 1.32},
        config=lambda lstm: replace(lstm, cell_clip=None, proj_clip=None),
    ),
    "residual off where it is on": Mistake(
        errors={"allennlp": 3.00}, config=lambda lstm: replace(lstm, residual=False)
    ),
    "residual on where it is off": Mistake(
        errors={"bilm-tf": None}, config=lambda lstm: replace(lstm, residual=True)
    ),
    "residual already on the first layer": Mistake(
        errors={"bilm-tf": None, "allennlp": None}, bend=_add_residual_to_first_layer
    ),
    "highway gate inverted": Mistake(
        errors={"bilm-tf": None, "allennlp": None}, bend=_invert_highway_gates
    ),
}
