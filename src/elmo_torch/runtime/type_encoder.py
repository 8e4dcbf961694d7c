"""The token encoder of a frozen biLM: convolutions only where a spelling can matter, as one product.

Behind the end of a word every position holds the same id, so all windows that start there are equal:
one of them stands for all. Filters narrower than the widest are filled up with zeros.
"""

import itertools
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_torch.kernels.crew import Crew
from elmo_torch.kernels.precision import Precision
from elmo_torch.kernels.products import make_product
from elmo_torch.nn.char_cnn import CharCnn
from elmo_torch.nn.highway import Highway
from elmo_torch.nn.word_embedding import WordEmbedding

__all__ = ["FrozenCharCnn", "FrozenWordEmbedding", "make_type_encoder"]

_CHUNK_TYPES = 256  # types encoded at a time, about 40 KB each
_ROUND_POSITIONS = 4  # types whose numbers of positions differ by less are encoded together

# int8 would save little more here, and cost accuracy in every layer above.
_PRECISION: dict[Precision, Precision] = {"fp32": "fp32", "bf16": "bf16", "int8": "bf16"}


def make_type_encoder(
    encoder: CharCnn | WordEmbedding, precision: Precision
) -> "FrozenCharCnn | FrozenWordEmbedding":
    """Return the encoder with its weights laid out for speed."""
    if isinstance(encoder, CharCnn):
        return FrozenCharCnn(encoder, _PRECISION[precision])
    return FrozenWordEmbedding(encoder)


class FrozenWordEmbedding:
    """The table of a word-input model."""

    def __init__(self, encoder: WordEmbedding) -> None:
        self._table = encoder.word_embedding.weight.detach()
        self.device = self._table.device

    def __call__(
        self,
        ids: Int[Tensor, " types"],
        crew: Crew,  # a look-up is no work to share
    ) -> Float[Tensor, "types proj"]:
        """Return the vectors of word ids."""
        return F.embedding(ids, self._table)


class FrozenCharCnn:
    """The char CNN of ``nn``, with its products laid out for speed."""

    def __init__(self, encoder: CharCnn, precision: Precision) -> None:
        self._config = encoder.config
        self._chars = encoder.char_embedding.weight.detach()
        self.device = self._chars.device
        self._widest = max(width for width, _ in self._config.filters)
        convolutions = [cast(nn.Conv1d, module) for module in encoder.convolutions]
        filters = [
            F.pad(convolution.weight.detach(), (0, self._widest - convolution.kernel_size[0]))
            for convolution in convolutions
        ]  # (filters, char_dim, widest)
        biases = [cast(Tensor, convolution.bias).detach() for convolution in convolutions]
        self._convolutions = make_product(
            torch.cat(filters).transpose(1, 2).flatten(1), torch.cat(biases), precision
        )
        self._filter_widths = torch.cat(
            [torch.full((count,), width) for width, count in self._config.filters]
        ).to(self.device)
        self._highways = [
            _FrozenHighway(cast(Highway, layer), precision) for layer in encoder.highways
        ]
        self._projection = (
            None
            if encoder.projection is None
            else make_product(
                encoder.projection.weight.detach(), encoder.projection.bias.detach(), precision
            )
        )

    def __call__(
        self, char_ids: Int[Tensor, "types chars"], crew: Crew
    ) -> Float[Tensor, "types proj"]:
        """Return the vectors of spellings; the order in which they are computed is no one's concern."""
        positions = self._positions(char_ids.cpu())
        order = torch.argsort(positions)
        ordered_ids, ordered_positions = char_ids[order.to(self.device)], positions[order]
        # as many types at a time for each thread as there are for the last chunks too
        num_chunks = -(-len(order) // _CHUNK_TYPES)
        num_chunks = min(-(-num_chunks // crew.size) * crew.size, len(order))
        bounds = [len(order) * chunk // num_chunks for chunk in range(num_chunks + 1)]
        parts = crew.map(
            lambda chunk: self._encode(ordered_ids[chunk], ordered_positions[chunk]),
            [slice(*pair) for pair in itertools.pairwise(bounds)],
        )
        vectors = torch.cat(parts)
        return torch.empty_like(vectors).index_copy_(0, order.to(self.device), vectors)

    def _positions(self, char_ids: Int[Tensor, "types chars"]) -> Int[Tensor, " types"]:
        """Return how many windows of each type can differ, the first of the equal ones counted.

        Rounded up; all positions, where windows of some width would run past the last one.
        """
        same = char_ids == char_ids[:, -1:]
        num_equal = same.flip(1).cumprod(dim=1).sum(dim=1)
        num = char_ids.shape[1] - num_equal + 1
        num = -(-num // _ROUND_POSITIONS) * _ROUND_POSITIONS
        fitting = char_ids.shape[1] - self._widest + 1
        return torch.where(num > fitting, char_ids.shape[1], num)

    def _encode(
        self, char_ids: Int[Tensor, "types chars"], positions: Int[Tensor, " types"]
    ) -> Float[Tensor, "types proj"]:
        """Return the vectors of types that are sorted by their positions."""
        counts, sizes = torch.unique_consecutive(positions, return_counts=True)
        groups = torch.split(char_ids, sizes.tolist())
        x = torch.cat(
            [
                self._maxima(group, num_positions)
                for group, num_positions in zip(groups, counts.tolist(), strict=True)
            ]
        )
        x = torch.relu(x) if self._config.activation == "relu" else torch.tanh(x)
        for highway in self._highways:
            x = highway(x)
        return x if self._projection is None else self._projection(x)

    def _maxima(
        self, char_ids: Int[Tensor, "types chars"], num_positions: int
    ) -> Float[Tensor, "types filters"]:
        """Return the largest answer of every filter over the first positions."""
        types, max_chars = char_ids.shape
        read = char_ids[:, : num_positions + self._widest - 1]
        chars = F.embedding(read, self._chars)
        chars = F.pad(chars, (0, 0, 0, num_positions + self._widest - 1 - chars.shape[1]))
        char_dim = self._config.char_dim
        windows = chars.as_strided(
            (types, num_positions, self._widest * char_dim),
            (chars.shape[1] * char_dim, char_dim, 1),
        ).flatten(0, 1)
        if num_positions + self._widest - 1 <= max_chars:
            return self._convolutions(windows, pool=num_positions)
        answers = self._convolutions(windows).view(types, num_positions, -1)
        ends = torch.arange(num_positions, device=self.device)[:, None] + self._filter_widths
        largest: Tensor = answers.masked_fill(ends > max_chars, -torch.inf).amax(dim=1)
        return largest


class _FrozenHighway:
    """Both products of a highway layer as one."""

    def __init__(self, layer: Highway, precision: Precision) -> None:
        weight = torch.cat([layer.gate.weight.detach(), layer.transform.weight.detach()])
        bias = torch.cat([layer.gate.bias.detach(), layer.transform.bias.detach()])
        self._product = make_product(weight, bias, precision)

    def __call__(self, x: Float[Tensor, "types width"]) -> Float[Tensor, "types width"]:
        gate, transformed = self._product(x).chunk(2, dim=-1)
        return torch.lerp(x, transformed.relu(), gate.sigmoid())
