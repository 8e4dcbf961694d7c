"""The one way for tests to find data that lies beside the project and is not part of it."""

from pathlib import Path

import pytest

__all__ = ["shared"]

_SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(relative: str) -> Path:
    """Return a path under the shared folder beside the checkout; skip the test where it is absent."""
    path = _SHARED / relative
    if not path.exists():
        pytest.skip(f"needs {path}, which a checkout alone does not have")
    return path
