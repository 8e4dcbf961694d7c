"""A checkpoint in words, for people."""

from collections.abc import Iterator

from elmo_torch.formats.checkpoint import Checkpoint
from elmo_torch.nn.char_cnn import CharCnnConfig

__all__ = ["describe"]

_FORMATS = {"native": "elmo-torch folder", "bilm": "bilm-tf / AllenNLP options and weights"}


def describe(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """Yield names and values: sizes, format, what comes with the model, where it comes from."""
    lstm, encoder = checkpoint.config.lstm, checkpoint.config.token_encoder
    parameters = sum(tensor.numel() for tensor in checkpoint.state_dict.values())
    yield "source", checkpoint.source
    yield "format", _FORMATS[checkpoint.format]
    yield "parameters", f"{parameters:,} (without softmax)"
    yield "layers", f"{checkpoint.config.num_layers} (token layer and {lstm.num_layers} recurrent)"
    yield "vector", f"{checkpoint.config.dim} numbers a token and layer, forward half first"
    if isinstance(encoder, CharCnnConfig):
        filters = " ".join(f"{width}x{count}" for width, count in encoder.filters)
        yield (
            "char CNN",
            (
                f"filters {filters}, {encoder.activation}, {encoder.num_highway} highway, "
                f"{encoder.max_chars - 2} bytes a token"
            ),
        )
    else:
        yield "word table", f"{encoder.vocab_size:,} words"
    yield (
        "recurrent",
        (
            f"cell {lstm.cell_dim}, projection {lstm.projection_dim}, cell clip {lstm.cell_clip}, "
            f"projection clip {lstm.proj_clip}, {'residual' if lstm.residual else 'no residual'}"
        ),
    )
    if checkpoint.softmax is not None and checkpoint.vocabulary is not None:
        yield "softmax", f"{len(checkpoint.vocabulary):,} words"
    else:
        yield "softmax", "none: represents text, cannot score it"
    for name, value in checkpoint.provenance.items():
        yield name, str(value)
