"""The char CNN: one context-independent vector for a word type, from the bytes of its spelling.

Byte embedding, convolutions of several widths, max over positions, activation, highway layers,
projection (Kim et al. 2015; Jozefowicz et al. 2016; Peters et al. 2018, section 3.4).
Positions past the end of a word hold an ordinary trained id, so they take part in the maximum.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from elmo_torch.nn.highway import Highway

__all__ = ["CharCnn", "CharCnnConfig"]

_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


@dataclass(frozen=True, kw_only=True, slots=True)
class CharCnnConfig:
    """Sizes of the char CNN."""

    char_dim: int  # width of a byte embedding
    filters: tuple[tuple[int, int], ...]  # (width in bytes, number of filters) of each convolution
    projection_dim: int  # width of the token layer; no projection if it equals num_filters
    max_chars: int = 50  # char ids per token, both word marks included
    num_char_ids: int = 262  # rows of the byte embedding; row 0 is sentence padding
    num_highway: int = 1  # highway layers
    activation: str = "relu"  # after the maximum: relu or tanh

    def __post_init__(self) -> None:
        for name in ("char_dim", "projection_dim", "num_char_ids"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.num_highway < 0:
            raise ValueError(f"num_highway must be 0 or more; got {self.num_highway}")
        if self.activation not in _ACTIVATIONS:
            raise ValueError(f"activation must be relu or tanh; got {self.activation!r}")
        if self.max_chars < 3:
            raise ValueError(
                f"max_chars must be 3 or more (two marks, one byte); got {self.max_chars}"
            )
        if not self.filters:
            raise ValueError("filters must name at least one (width, count) pair")
        for width, count in self.filters:
            if not 1 <= width <= self.max_chars or count < 1:
                raise ValueError(
                    f"a filter needs 1 <= width <= max_chars ({self.max_chars}) and count >= 1; "
                    f"got width {width}, count {count}"
                )

    @property
    def num_filters(self) -> int:
        """Width of the concatenated convolutions and of the highway layers."""
        return sum(count for _, count in self.filters)


class CharCnn(nn.Module):
    """Spelling to token vector; a row of zeros (padding) gives a vector that is not zero."""

    def __init__(self, config: CharCnnConfig) -> None:
        super().__init__()
        self.config = config
        self.char_embedding = nn.Embedding(config.num_char_ids, config.char_dim, padding_idx=0)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.char_dim, count, width) for width, count in config.filters
        )
        self.highways = nn.ModuleList(
            Highway(config.num_filters) for _ in range(config.num_highway)
        )
        self.projection = (
            None
            if config.num_filters == config.projection_dim
            else nn.Linear(config.num_filters, config.projection_dim)
        )

    def forward(self, char_ids: Int[Tensor, "types chars"]) -> Float[Tensor, "types proj"]:
        """Return one vector a word type; the bytes of a type count, its context does not exist here."""
        activation = _ACTIVATIONS[self.config.activation]
        chars = self.char_embedding(char_ids).transpose(1, 2)  # (types, char_dim, chars)
        maxima = [convolution(chars).max(dim=-1).values for convolution in self.convolutions]
        x: Tensor = activation(torch.cat(maxima, dim=-1))  # (types, num_filters)
        for highway in self.highways:
            x = highway(x)
        return x if self.projection is None else self.projection(x)
