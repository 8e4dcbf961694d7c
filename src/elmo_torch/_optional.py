"""Import of optional packages, with the install line in the error when one is missing."""

import importlib
from types import ModuleType

from elmo_torch.errors import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str) -> ModuleType:
    """Return the imported module, or raise MissingExtraError naming the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f'this needs the package "{module.partition(".")[0]}", which is not installed: '
            f'pip install "elmo-torch[{extra}]"'
        ) from error
