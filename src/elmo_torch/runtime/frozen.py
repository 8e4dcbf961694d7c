"""Execution of a frozen biLM over sentences of any length, in bounded memory.

Sentences are read in windows of time steps with the state carried from window to window; the
backward stack takes its windows from the end. The result is that of one run over the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from elmo_torch.nn.bilm import BiLm
from elmo_torch.nn.bilstmp import BiLmState
from elmo_torch.runtime.selection import LayerSelection
from elmo_torch.runtime.type_cache import TypeCache
from elmo_torch.text.char_ids import BOS_WORD, EOS_WORD, CharIds
from elmo_torch.text.word_ids import WordIds

__all__ = ["FrozenBatch", "FrozenBiLm"]

_GATE_BYTES = 48 << 20  # largest block of gate pre-activations, the widest tensor of a run
_PADDING = ""  # place holder; masked, so its spelling does not matter


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenBatch:
    """Each sentence's vectors at its own length, and the state after the batch."""

    vectors: list[Float[Tensor, "kept _ dim"]]  # ragged: each its own number of tokens
    state: BiLmState


class FrozenBiLm:
    """A biLM that will not be trained, with its cache of word types."""

    def __init__(self, bilm: BiLm, token_ids: CharIds | WordIds) -> None:
        self.bilm = bilm.requires_grad_(False)
        self.types = TypeCache(bilm, token_ids)

    @torch.inference_mode()
    def run(
        self,
        sentences: Sequence[Sequence[str]],
        selection: LayerSelection,
        state: BiLmState | None = None,
        *,
        keep_boundaries: bool = False,
    ) -> FrozenBatch:
        """Return the chosen layers of one batch of sentences; from the zero state without ``state``.

        ``keep_boundaries`` leaves the rows of BOS and EOS around each sentence's own.
        """
        framed = [[BOS_WORD, *sentence, EOS_WORD] for sentence in sentences]
        lengths = torch.tensor([len(words) for words in framed])
        batch, longest = len(framed), int(lengths.max())
        lstm = self.bilm.config.lstm
        window = max(1, _GATE_BYTES // (4 * lstm.cell_dim * 4 * batch))
        before = self.bilm.lstm.zero_state(batch) if state is None else state
        device = before.hidden.device
        mask = torch.arange(longest)[None] < lengths[:, None]
        weights = selection.weights.to(device)
        vectors = torch.zeros(batch, len(weights), longest, self.bilm.config.dim, device=device)

        hiddens, memories = [], []
        for direction, (stack, hidden, memory) in enumerate(
            zip(
                self.bilm.lstm.stacks(),
                before.hidden.chunk(2, -1),
                before.memory.chunk(2, -1),
                strict=True,
            )
        ):
            half = slice(direction * lstm.projection_dim, (direction + 1) * lstm.projection_dim)
            starts = range(0, longest, window)
            for start in reversed(starts) if stack.reverse else starts:
                span = slice(start, start + window)
                real = mask[:, span].to(device)
                tokens = self._token_vectors([words[span] for words in framed], real)
                outputs, hidden, memory = stack(tokens, hidden, memory, mask=real)
                layers = torch.stack([tokens, *outputs])  # (layers, batch, window, proj)
                vectors[:, :, span, half] = torch.einsum("kl,lbtp->bktp", weights, layers)
            hiddens.append(hidden)
            memories.append(memory)
        return FrozenBatch(
            vectors=[
                _cut(rows, len(words), keep_boundaries=keep_boundaries, alone=batch == 1)
                for rows, words in zip(vectors, framed, strict=True)
            ],
            state=BiLmState(hidden=torch.cat(hiddens, -1), memory=torch.cat(memories, -1)),
        )

    def _token_vectors(
        self, rows: list[list[str]], real: Tensor
    ) -> Float[Tensor, "batch tokens proj"]:
        """Return the token layer of a window; rows that end before it are padded."""
        width = real.shape[1]
        padded = [[*words, *[_PADDING] * (width - len(words))] for words in rows]
        distinct: dict[str, int] = {}
        places = [[distinct.setdefault(word, len(distinct)) for word in words] for words in padded]
        vectors = self.types.encode(list(distinct))
        return vectors[torch.tensor(places, device=vectors.device)] * real[..., None]


def _cut(rows: Tensor, num_framed: int, *, keep_boundaries: bool, alone: bool) -> Tensor:
    """Return a sentence's own rows: a copy, so that keeping one does not keep its batch."""
    cut = rows[:, :num_framed] if keep_boundaries else rows[:, 1 : num_framed - 1]
    return cut if alone else cut.clone()
