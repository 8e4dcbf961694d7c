"""The bidirectional language model (biLM): from ids to the L + 1 layers of every token.

Layer 0 is the context-independent output of the token encoder, written twice side by side to
reach the full width; layers 1..L are the outputs of the recurrent layers (paper, section 3.1-3.2).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from elmo_torch.nn.bilstmp import BiLmState, BiLstmp, BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnn, CharCnnConfig
from elmo_torch.nn.word_embedding import WordEmbedding, WordEmbeddingConfig

__all__ = ["BiLm", "BiLmConfig", "BiLmOutput", "real_tokens"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLmConfig:
    """The token encoder and the recurrent layers of one biLM."""

    token_encoder: CharCnnConfig | WordEmbeddingConfig
    lstm: BiLstmpConfig

    def __post_init__(self) -> None:
        if self.token_encoder.projection_dim != self.lstm.projection_dim:
            raise ValueError(
                f"the token encoder gives {self.token_encoder.projection_dim} numbers a token, "
                f"the recurrent layers read {self.lstm.projection_dim}: the two must be equal"
            )

    @property
    def num_layers(self) -> int:
        """L + 1: the token layer and the recurrent layers."""
        return self.lstm.num_layers + 1

    @property
    def dim(self) -> int:
        """Width of a representation: both directions side by side."""
        return 2 * self.lstm.projection_dim


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLmOutput:
    """All layers of a batch, zero at padding."""

    layers: Float[Tensor, "layers batch tokens dim"]
    mask: Bool[Tensor, "batch tokens"]
    state: BiLmState

    @property
    def token_layer(self) -> Float[Tensor, "batch tokens dim"]:
        """Layer 0."""
        return self.layers[0]

    @property
    def top_layer(self) -> Float[Tensor, "batch tokens dim"]:
        """Layer L."""
        return self.layers[-1]


def real_tokens(
    ids: Int[Tensor, "batch tokens chars"] | Int[Tensor, "batch tokens"],
) -> Bool[Tensor, "batch tokens"]:
    """Return True where a token is not padding: where any of its ids is above 0."""
    return (ids > 0).any(dim=-1) if ids.dim() == 3 else ids > 0


class BiLm(nn.Module):
    """The model without its softmax, as used to represent text."""

    def __init__(self, config: BiLmConfig) -> None:
        super().__init__()
        self.config = config
        self.token_encoder: CharCnn | WordEmbedding = (
            CharCnn(config.token_encoder)
            if isinstance(config.token_encoder, CharCnnConfig)
            else WordEmbedding(config.token_encoder)
        )
        self.lstm = BiLstmp(config.lstm)

    def forward(
        self,
        ids: Int[Tensor, "batch tokens chars"] | Int[Tensor, "batch tokens"],
        state: BiLmState | None = None,
    ) -> BiLmOutput:
        """Return the layers of sentences given with their boundary tokens, padded with zeros at the end.

        ``ids`` are char ids for a char-input model, word ids for a word-input model. Without
        ``state`` every sentence is read from the zero state, so it depends on itself alone.
        """
        token_vectors = self.token_encoder(ids.flatten(0, 1)).unflatten(0, ids.shape[:2])
        return self.contextualize(token_vectors, real_tokens(ids), state)

    def contextualize(
        self,
        token_vectors: Float[Tensor, "batch tokens proj"],
        mask: Bool[Tensor, "batch tokens"],
        state: BiLmState | None = None,
    ) -> BiLmOutput:
        """Return the layers above token vectors that the token encoder has already made."""
        token_vectors = token_vectors * mask[..., None]
        before = self.lstm.zero_state(len(mask)) if state is None else state
        recurrent, after = self.lstm(token_vectors, mask, before)
        token_layer = torch.cat([token_vectors, token_vectors], dim=-1)
        return BiLmOutput(layers=torch.cat([token_layer[None], recurrent]), mask=mask, state=after)
