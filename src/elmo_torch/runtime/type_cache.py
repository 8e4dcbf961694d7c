"""Token-layer vectors of word types, computed once: the token encoder sees a spelling and nothing else."""

import os
from collections.abc import Sequence

import torch
from cachetools import LRUCache
from jaxtyping import Float
from torch import Tensor

from elmo_torch.kernels.crew import Crew
from elmo_torch.runtime.type_encoder import FrozenCharCnn, FrozenWordEmbedding
from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.word_ids import WordIds

__all__ = ["TypeCache", "default_cache_bytes"]

_MOST_BYTES = 128 << 20
_SHARE_OF_MEMORY = 64


def default_cache_bytes() -> int:
    """Return the room for vectors: a 64th of this machine's memory, 128 MB at most."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return _MOST_BYTES
    return min(_MOST_BYTES, memory // _SHARE_OF_MEMORY)


class _Slots(LRUCache[str, int]):
    """Which row of a table each type has; the row of a type that is dropped is free again."""

    def __init__(self, num_rows: int) -> None:
        super().__init__(num_rows)
        self._free = list(reversed(range(num_rows)))

    def popitem(self) -> tuple[str, int]:
        """Drop the type that was not asked for the longest."""
        word, row = super().popitem()
        self._free.append(row)
        return word, row

    def add(self, word: str) -> int:
        """Return the row of a type that is not there yet."""
        if self.currsize == self.maxsize:
            self.popitem()
        self[word] = row = self._free.pop()
        return row


class TypeCache:
    """The token encoder with a bounded memory of the most recently used types."""

    def __init__(
        self,
        encoder: FrozenCharCnn | FrozenWordEmbedding,
        token_ids: CharIds | WordIds,
        *,
        projection_dim: int,
        num_bytes: int,
    ) -> None:
        self._encoder = encoder
        self._token_ids = token_ids
        num_rows = num_bytes // (4 * projection_dim)
        self._table = torch.empty(num_rows, projection_dim, device=encoder.device)
        self._slots = _Slots(num_rows)

    def clear(self) -> None:
        """Forget all types."""
        self._slots = _Slots(len(self._table))

    def encode(self, words: Sequence[str], crew: Crew) -> Float[Tensor, "types proj"]:
        """Return the vectors of distinct words, in their order."""
        rows = [self._slots.get(word, -1) for word in words]
        missing = [place for place, row in enumerate(rows) if row < 0]
        if not missing:
            return self._table[rows]
        ids = torch.from_numpy(self._token_ids.encode([words[place] for place in missing]))
        computed = self._encoder(ids.to(self._encoder.device), crew)
        known = [place for place, row in enumerate(rows) if row >= 0]
        vectors = computed.new_empty(len(words), computed.shape[1])
        vectors[known] = self._table[[rows[place] for place in known]]
        vectors[missing] = computed
        kept = missing[-len(self._table) :] if len(self._table) else []
        if kept:
            self._table[[self._slots.add(words[place]) for place in kept]] = computed[-len(kept) :]
        return vectors
