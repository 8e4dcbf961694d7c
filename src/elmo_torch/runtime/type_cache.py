"""Token-layer vectors of word types, computed once: the char CNN sees a spelling and nothing else."""

from collections.abc import Sequence

import torch
from cachetools import LRUCache
from jaxtyping import Float
from torch import Tensor

from elmo_torch.nn.bilm import BiLm
from elmo_torch.text.char_ids import CharIds
from elmo_torch.text.word_ids import WordIds

__all__ = ["TypeCache"]

_CACHE_BYTES = 64 << 20
_CHUNK_TYPES = 256  # types in one pass of the char CNN, whose convolutions need about 1 MB a type


class TypeCache:
    """The token encoder with a bounded memory of the most recently used types."""

    def __init__(self, bilm: BiLm, token_ids: CharIds | WordIds) -> None:
        self._bilm = bilm
        self._token_ids = token_ids
        vector_bytes = 4 * bilm.config.lstm.projection_dim
        self._vectors: LRUCache[str, Tensor] = LRUCache(max(_CACHE_BYTES // vector_bytes, 1))

    def clear(self) -> None:
        """Forget all types."""
        self._vectors.clear()

    def encode(self, words: Sequence[str]) -> Float[Tensor, "types proj"]:
        """Return the vectors of distinct words, in their order."""
        vectors = {word: self._vectors[word] for word in words if word in self._vectors}
        missing = [word for word in words if word not in vectors]
        device = next(self._bilm.parameters()).device
        for start in range(0, len(missing), _CHUNK_TYPES):
            chunk = missing[start : start + _CHUNK_TYPES]
            ids = torch.from_numpy(self._token_ids.encode(chunk)).to(device)
            vectors.update(zip(chunk, self._bilm.token_encoder(ids).unbind(), strict=True))
        for word in missing:
            self._vectors[word] = vectors[word]
        return torch.stack([vectors[word] for word in words])
