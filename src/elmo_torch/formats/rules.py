"""Reversible rules between the tensors of a file and those of our state dict, and their strict application.

Every tensor of the file is used by one rule or named as ignored; anything left over, missing,
of a wrong shape or not finite is reported by name, all at once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_torch.errors import CheckpointError

__all__ = ["Rule", "apply_rules", "revert_rules"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One tensor of the file, the tensors of ours that it holds, and the way there and back."""

    source: str  # name in the file
    shape: tuple[int, ...]  # shape in the file
    targets: tuple[str, ...]  # keys of our state dict
    read: Callable[[Tensor], tuple[Tensor, ...]]
    write: Callable[[tuple[Tensor, ...]], Tensor]


def apply_rules(
    rules: Iterable[Rule], tensors: Mapping[str, Tensor], *, ignored: Iterable[str] = (), where: str
) -> dict[str, Tensor]:
    """Return our state dict; CheckpointError lists every tensor that does not fit, by name."""
    rules = list(rules)
    expected = {rule.source for rule in rules}
    problems = [f"missing {name}" for name in sorted(expected - tensors.keys())]
    problems += [f"unknown {name}" for name in sorted(tensors.keys() - expected - set(ignored))]
    state: dict[str, Tensor] = {}
    for rule in rules:
        tensor = tensors.get(rule.source)
        if tensor is None:
            continue
        if tuple(tensor.shape) != rule.shape:
            problems.append(f"{rule.source} is {tuple(tensor.shape)}, its options say {rule.shape}")
        elif not torch.isfinite(tensor).all():
            problems.append(f"{rule.source} holds numbers that are not finite")
        else:
            state.update(zip(rule.targets, rule.read(tensor), strict=True))
    if problems:
        raise CheckpointError(f"{where}: the weights do not fit the model: " + "; ".join(problems))
    return state


def revert_rules(rules: Iterable[Rule], state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the file's tensors, in the order of the rules."""
    return {
        rule.source: rule.write(tuple(state[key] for key in rule.targets)).contiguous()
        for rule in rules
    }
