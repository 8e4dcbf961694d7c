"""The object a user holds: sentences in, representations out."""

import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from elmo_torch.embed.catalogue import DEFAULT_MODEL, find_model
from elmo_torch.embed.representations import Representations
from elmo_torch.errors import InputError
from elmo_torch.formats.checkpoint import Checkpoint, load_checkpoint
from elmo_torch.kernels.precision import Precision
from elmo_torch.nn.bilm import BiLmConfig
from elmo_torch.nn.carried_state import CarriedState
from elmo_torch.runtime.device import checked_device
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import Layers, LayerSelection, select_layers
from elmo_torch.text.batches import token_budget_batches, windows
from elmo_torch.text.sentences import check_sentences

__all__ = ["DEFAULT_BATCH_TOKENS", "Embedder", "Precision"]

DEFAULT_BATCH_TOKENS = 4096
_STREAM_TOKENS = 32_768  # tokens read ahead by a stream, to batch sentences of like length


class Embedder:
    """A frozen biLM and what is needed to read text with it.

    Stateless by default: a sentence's vectors depend on that sentence alone. With ``carry_state``
    every call is one batch whose row k goes on from row k of the call before, as bilm-tf and
    AllenNLP do; ``reset`` forgets, ``warm_up`` reads sentences only to reach a typical state.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        precision: Precision = "fp32",
        device: str = "cpu",
        carry_state: bool = False,
        cache_bytes: int | None = None,
    ) -> None:
        if precision not in get_args(Precision):
            raise InputError(
                f"precision must be {', '.join(get_args(Precision))}; got {precision!r}"
            )
        self._frozen = FrozenBiLm(
            checkpoint.bilm().to(checked_device(device)),
            checkpoint.token_ids(),
            precision=precision,
            cache_bytes=cache_bytes,
        )
        self._carried = CarriedState() if carry_state else None

    @classmethod
    def load(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        *,
        precision: Precision = "fp32",
        device: str = "cpu",
        carry_state: bool = False,
        cache_bytes: int | None = None,
    ) -> "Embedder":
        """Return an embedder of a bundled model, or of any that ``load_checkpoint`` reads.

        ``precision`` fp32 gives the model's own numbers; bf16 and int8 are faster and near them
        (the manual's table says how near). ``cache_bytes`` bounds the vectors of word types that
        are kept from call to call: by default 128 MB or less on a small machine, 0 keeps none.
        Raises CheckpointError if the model cannot be read, InputError for an unknown precision
        or a device that this machine lacks.
        """
        return cls(
            load_checkpoint(find_model(name_or_path)),
            precision=precision,
            device=device,
            carry_state=carry_state,
            cache_bytes=cache_bytes,
        )

    @property
    def config(self) -> BiLmConfig:
        """The model's sizes."""
        return self._frozen.config

    @property
    def precision(self) -> Precision:
        """The number format of the run."""
        return self._frozen.precision

    @functools.cached_property
    def fingerprint(self) -> str:
        """A short name for what this embedder answers: of its vectors of words with every byte.

        Another model, or another way to compute it, has another.
        """
        words = ["".join(map(chr, range(start, start + 16))) for start in range(1, 0x800, 16)]
        words += [chr(lead << 12 | 0x800) for lead in range(16)] + [
            chr(p << 18 | 0x10000) for p in range(4)
        ]
        batch = self._frozen.run([words], select_layers("all", self.num_layers))
        digest = hashlib.blake2b(repr(self.config).encode(), digest_size=16)
        digest.update(batch.vectors[0].cpu().numpy().tobytes())
        return digest.hexdigest()

    @property
    def num_layers(self) -> int:
        """L + 1: the token layer and the recurrent layers."""
        return self.config.num_layers

    @property
    def dim(self) -> int:
        """Width of a vector: both directions."""
        return self.config.dim

    def embed(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        layers: Layers = "all",
        max_batch_tokens: int = DEFAULT_BATCH_TOKENS,
    ) -> list[Representations]:
        """Return one result a sentence, in order; ``[]`` gives ``[]``.

        ``max_batch_tokens`` bounds the padded tokens of one model call; a longer sentence is a call
        of its own. Raises InputError if something is not a list of str.
        """
        check_sentences(sentences)
        selection = select_layers(layers, self.num_layers)
        if not sentences:
            return []
        if self._carried is not None:
            return self._embed_batch(sentences, selection)
        results: list[Representations | None] = [None] * len(sentences)
        for batch in token_budget_batches(sentences, max_batch_tokens=max_batch_tokens):
            rows = [sentences[index] for index in batch]
            for index, result in zip(batch, self._embed_batch(rows, selection), strict=True):
                results[index] = result
        return [result for result in results if result is not None]

    def embed_stream(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        layers: Layers = "all",
        max_batch_tokens: int = DEFAULT_BATCH_TOKENS,
    ) -> Iterator[Representations]:
        """Yield the results of any number of sentences, in order and in bounded memory.

        With ``carry_state`` the sentences are one text: each goes on from the one before.
        """
        select_layers(layers, self.num_layers)
        groups: Iterable[Sequence[Sequence[str]]] = (
            windows(sentences, max_tokens=_STREAM_TOKENS)
            if self._carried is None
            else ([sentence] for sentence in sentences)
        )
        return itertools.chain.from_iterable(
            self.embed(group, layers=layers, max_batch_tokens=max_batch_tokens) for group in groups
        )

    def reset(self) -> None:
        """Forget the carried state; the next call starts from zero. A stateless embedder has none."""
        if self._carried is not None:
            self._carried.reset()

    def warm_up(self, sentences: Sequence[Sequence[str]]) -> None:
        """Read a batch of sentences for the sake of the state they leave; needs ``carry_state``."""
        if self._carried is None:
            raise InputError("warm_up needs a carried state: load the model with carry_state=True")
        self.embed(sentences, layers=[0])

    def clear_cache(self) -> None:
        """Forget the token-layer vectors of word types seen so far."""
        self._frozen.types.clear()

    def _embed_batch(
        self, sentences: Sequence[Sequence[str]], selection: LayerSelection
    ) -> list[Representations]:
        state = None
        if self._carried is not None:
            state = self._carried.rows(self._frozen.zero_state(len(sentences)))
        batch = self._frozen.run(sentences, selection, state)
        if self._carried is not None and batch.state is not None:
            self._carried.update(batch.state)
        return [
            Representations(
                tokens=tuple(sentence),
                vectors=vectors.cpu().numpy(),
                kept=selection.kept,
                num_layers=self.num_layers,
            )
            for sentence, vectors in zip(sentences, batch.vectors, strict=True)
        ]
