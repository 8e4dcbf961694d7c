"""The two files that AllenNLP's classes are given: options and weights, here paths on disk alone."""

from pathlib import Path

from elmo_torch.errors import CheckpointError, InputError
from elmo_torch.formats.checkpoint import Checkpoint, load_checkpoint
from elmo_torch.nn.char_cnn import CharCnnConfig

__all__ = ["load_model_files"]


def load_model_files(options_file: str | Path | None, weight_file: str | Path | None) -> Checkpoint:
    """Return the model of the pair.

    Raises InputError for a missing argument or a URL, CheckpointError for files that cannot be
    read or hold a model without a char CNN.
    """
    if options_file is None or weight_file is None:
        raise InputError("options_file and weight_file are both needed, as paths of files on disk")
    for name, file in (("options_file", options_file), ("weight_file", weight_file)):
        if "://" in str(file):
            raise InputError(
                f"{name}: {file} is a URL, and nothing is fetched here; "
                "download the file and give its path"
            )
    checkpoint = load_checkpoint((options_file, weight_file))
    if not isinstance(checkpoint.config.token_encoder, CharCnnConfig):
        raise CheckpointError(
            f"{checkpoint.source}: reads word ids; the names of AllenNLP need a model with a char CNN"
        )
    return checkpoint
