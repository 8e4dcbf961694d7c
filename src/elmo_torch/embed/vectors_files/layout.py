"""What every record of a vectors file looks like."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from elmo_torch.embed.representations import Representations
from elmo_torch.errors import OutputError

__all__ = ["VectorsLayout"]


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorsLayout:
    """Layers, width and number type, the same for all sentences of a file."""

    layer_names: (
        tuple[int, ...] | None
    )  # one axis of layers; None: one vector a token, no such axis
    dim: int
    dtype: Literal["float32", "float16"]

    def values(self, result: Representations) -> Float[ndarray, "*layers tokens dim"]:
        """Return a sentence's numbers as they are written; OutputError if float16 is too narrow."""
        vectors = result.vectors[0] if self.layer_names is None else result.vectors
        try:
            with np.errstate(over="raise"):
                return vectors.astype(self.dtype, copy=False)
        except FloatingPointError as error:
            raise OutputError(
                "a vector holds a number that float16 cannot (beyond 65504); write float32"
            ) from error
