"""The precisions in which a frozen model can be run."""

from typing import Literal

__all__ = ["Precision"]

Precision = Literal["fp32", "bf16", "int8"]
