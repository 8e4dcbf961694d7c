"""Small random models for tests; every size differs, so that a swapped axis shows."""

import torch

from elmo_torch.formats.checkpoint import Checkpoint
from elmo_torch.nn.bilm import BiLm, BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.softmax import SoftmaxLayer
from elmo_torch.text.vocabulary import SPECIAL_WORDS, Vocabulary

__all__ = ["random_checkpoint", "small_config"]


def small_config(num_layers: int = 2) -> BiLmConfig:
    """Return the sizes of a model with projections of 5 and cells of 7."""
    return BiLmConfig(
        token_encoder=CharCnnConfig(
            char_dim=3, filters=((1, 2), (3, 6)), projection_dim=5, max_chars=12
        ),
        lstm=BiLstmpConfig(cell_dim=7, projection_dim=5, num_layers=num_layers),
    )


def random_checkpoint(
    config: BiLmConfig | None = None, *, seed: int = 0, words: tuple[str, ...] | None = None
) -> Checkpoint:
    """Return a model with random weights; with ``words``, its softmax and vocabulary too."""
    config = config or small_config()
    generator = torch.Generator().manual_seed(seed)
    bilm = BiLm(config)
    state = {
        key: torch.randn(tensor.shape, generator=generator) * 0.5
        for key, tensor in bilm.state_dict().items()
    }
    state["token_encoder.char_embedding.weight"][0] = 0  # padding
    vocabulary = None if words is None else Vocabulary([*SPECIAL_WORDS, *words])
    softmax = None
    if vocabulary is not None:
        layer = SoftmaxLayer(vocab_size=len(vocabulary), projection_dim=config.lstm.projection_dim)
        softmax = {
            key: torch.randn(tensor.shape, generator=generator)
            for key, tensor in layer.state_dict().items()
        }
    return Checkpoint(
        config=config,
        state_dict=state,
        source="a random model",
        format="native",
        softmax=softmax,
        vocabulary=vocabulary,
    )
