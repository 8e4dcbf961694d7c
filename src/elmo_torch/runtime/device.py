"""The device that a user names, if this machine has it."""

import torch

from elmo_torch.errors import InputError

__all__ = ["checked_device"]


def checked_device(name: str) -> torch.device:
    """Return the device; InputError if there is none of that name here."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {name!r} cannot be used here: {reason}") from error
    return device
