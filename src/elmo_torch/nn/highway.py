"""Highway layer: a learned gate between a transformed input and the input itself (Srivastava et al. 2015)."""

from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["Highway"]


class Highway(nn.Module):
    """``gate * relu(transform(x)) + (1 - gate) * x``.

    ``gate`` is the *transform* gate: 1 lets the transformed input through, 0 carries the input.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)

    def forward(self, x: Float[Tensor, "types width"]) -> Float[Tensor, "types width"]:
        """Return the gated mix of the transformed input and the input."""
        gate: Tensor = self.gate(x).sigmoid()
        transformed: Tensor = self.transform(x).relu()
        return gate * transformed + (1 - gate) * x
