"""Errors a user can meet; each message says what is wrong, where, and what to do about it."""

__all__ = [
    "CheckpointError",
    "ElmoError",
    "InputError",
    "LayerOmittedError",
    "MissingExtraError",
    "OutputError",
    "TrainingError",
]


class ElmoError(ValueError):
    """Anything the caller can mend: the command line prints the message and exits with code 2."""


class InputError(ElmoError):
    """Text or tokens that cannot be read as sentences."""


class CheckpointError(ElmoError):
    """A model on disk that is missing, damaged, or of a format that is not read."""


class OutputError(ElmoError):
    """A result that cannot be written where it was asked for."""


class LayerOmittedError(ElmoError):
    """A layer was asked for that the run which made the representations did not keep."""


class TrainingError(ElmoError):
    """A pre-training run that cannot start, go on, or be resumed."""


class MissingExtraError(ElmoError):
    """An optional package is needed and not installed."""
