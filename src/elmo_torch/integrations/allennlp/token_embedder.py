"""``ElmoTokenEmbedder`` with the arguments of AllenNLP's class: one mix, as a plain tensor."""

from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float, Int
from torch import Tensor, nn

from elmo_torch.integrations.allennlp.elmo import Elmo

__all__ = ["ElmoTokenEmbedder"]


class ElmoTokenEmbedder(nn.Module):
    """One ELMo vector a token, narrowed to ``projection_dim`` by a linear layer if that is given.

    Stateless, as ``Elmo`` is, whose arguments these are.
    """

    def __init__(
        self,
        options_file: str | Path,
        weight_file: str | Path,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        requires_grad: bool = False,
        projection_dim: int | None = None,
        vocab_to_cache: Sequence[str] | None = None,
        scalar_mix_parameters: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self._elmo = Elmo(
            options_file,
            weight_file,
            1,
            requires_grad=requires_grad,
            do_layer_norm=do_layer_norm,
            dropout=dropout,
            vocab_to_cache=vocab_to_cache,
            scalar_mix_parameters=scalar_mix_parameters,
        )
        dim = self._elmo.get_output_dim()
        self._projection = None if projection_dim is None else nn.Linear(dim, projection_dim)
        self.output_dim = dim if projection_dim is None else projection_dim

    def get_output_dim(self) -> int:
        """Return the width of a vector, after the projection."""
        return self.output_dim

    def forward(
        self, elmo_tokens: Int[Tensor, "..."], word_inputs: Int[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch tokens dim"]:
        """Return the vectors of char ids, or of the ids of cached words."""
        vectors: Tensor = self._elmo(elmo_tokens, word_inputs)["elmo_representations"][0]
        return vectors if self._projection is None else self._projection(vectors)
