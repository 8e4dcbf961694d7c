"""The biLM of an options and weights pair, called and answering as AllenNLP's ``_ElmoBiLm``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp.cached_words import CachedWords
from elmo_torch.integrations.allennlp.model_files import load_model_files
from elmo_torch.nn.bilm import real_tokens
from elmo_torch.nn.carried_state import CarriedState
from elmo_torch.nn.char_cnn import CharCnn
from elmo_torch.nn.elmo import add_boundaries

__all__ = ["BiLmActivations", "PairBiLm"]


class BiLmActivations(TypedDict):
    """What ``Elmo`` needs of a biLM; any module that answers so can stand in for ours."""

    activations: list[Tensor]  # layer by layer (batch, tokens, dim), the boundary tokens included
    mask: Tensor  # (batch, tokens) bool


class PairBiLm(nn.Module):
    """Layers of sentences given by char ids, or by ids of a cached list of words."""

    boundary_ids: Tensor

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        *,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
        carry_state: bool = False,
    ) -> None:
        super().__init__()
        checkpoint = load_model_files(options_file, weight_file)
        self.bilm = checkpoint.bilm().requires_grad_(requires_grad)
        self.register_buffer("boundary_ids", checkpoint.boundary_ids, persistent=False)
        self.words = (
            CachedWords(vocab_to_cache, self._char_cnn, trainable=requires_grad)
            if vocab_to_cache
            else None
        )
        self.carried = CarriedState() if carry_state else None

    @property
    def num_layers(self) -> int:
        """L + 1."""
        return self.bilm.config.num_layers

    def get_output_dim(self) -> int:
        """Return the width of a representation."""
        return self.bilm.config.dim

    def forward(
        self,
        inputs: Int[Tensor, "..."],
        word_inputs: Int[Tensor, "batch tokens"] | None = None,
    ) -> BiLmActivations:
        """Return the layers; of word ids if there are any and all are cached, else of char ids."""
        if self.words is not None and word_inputs is not None and self.words.holds(word_inputs):
            token_vectors, mask = self.words(word_inputs)
        else:
            token_vectors, mask = self._encode_spelling(inputs)
        state = None
        if self.carried is not None:
            state = self.carried.rows(self.bilm.lstm.zero_state(len(mask)))
        output = self.bilm.contextualize(token_vectors, mask, state)
        if self.carried is not None:
            self.carried.update(output.state)
        return BiLmActivations(activations=list(output.layers), mask=mask)

    @property
    def _char_cnn(self) -> CharCnn:
        return cast(CharCnn, self.bilm.token_encoder)  # load_model_files takes no other

    def _encode_spelling(
        self, char_ids: Int[Tensor, "..."]
    ) -> tuple[Float[Tensor, "batch longer proj"], Bool[Tensor, "batch longer"]]:
        """Return the token vectors of the sentences with their boundary tokens, and the mask of both.

        Tokens spelled alike are encoded once.
        """
        max_chars = self.boundary_ids.shape[1]
        if char_ids.dim() != 3 or char_ids.shape[2] != max_chars:
            raise InputError(
                f"inputs must be char ids (batch, tokens, {max_chars}), as batch_to_ids gives for "
                f"models of 50 characters a token; got the shape {tuple(char_ids.shape)}"
            )
        framed = add_boundaries(char_ids, self.boundary_ids)
        types, places = torch.unique(framed.flatten(0, 1), dim=0, return_inverse=True)
        vectors = self._char_cnn(types)[places]
        return vectors.unflatten(0, framed.shape[:2]), real_tokens(framed)
