"""``options.json`` of bilm-tf and AllenNLP to and from our config (keys: bilm-tf's training script).

Files in the wild hold the keys for use alone, or those for training too. All known keys are
checked by type; the training keys are kept with the checkpoint and have no effect on the model.
"""

from collections.abc import Mapping
from typing import Any

from elmo_torch.errors import CheckpointError
from elmo_torch.nn.bilm import BiLmConfig
from elmo_torch.nn.bilstmp import BiLstmpConfig
from elmo_torch.nn.char_cnn import CharCnnConfig
from elmo_torch.nn.word_embedding import WordEmbeddingConfig

__all__ = ["config_from_options", "options_from_config"]

_NUMBER = (int, float)
_LSTM_KEYS = {
    "dim": int,
    "projection_dim": int,
    "n_layers": int,
    "cell_clip": _NUMBER,
    "proj_clip": _NUMBER,
    "use_skip_connections": bool,
}
_CHAR_CNN_KEYS = {
    "embedding": dict,
    "filters": list,
    "activation": str,
    "n_highway": int,
    "n_characters": int,
    "max_characters_per_token": int,
    "projection_after_highway": bool,
}
_TRAINING_KEYS = {
    "bidirectional": bool,
    "reverse": bool,
    "dropout": _NUMBER,
    "unroll_steps": int,
    "batch_size": int,
    "n_epochs": int,
    "n_train_tokens": int,
    "n_tokens_vocab": int,
    "n_negative_samples_batch": int,
    "sample_softmax": bool,
    "share_embedding_softmax": bool,
    "all_clip_norm_val": _NUMBER,
    "learning_rate": _NUMBER,
    "char_cnn.projection_after_highway": bool,
}
_TOP_KEYS = {"lstm": dict, "char_cnn": dict, **_TRAINING_KEYS}
_OPTIONAL = frozenset(
    ["cell_clip", "proj_clip", "use_skip_connections", "n_layers", "n_highway", "activation"]
)  # may be null in a file, which means absent
_CHARS_IN_TRAINING, _CHARS_IN_USE = 261, 262  # both name the same 261 rows of a weights file
_NUM_CHAR_IDS = 262


def config_from_options(options: object, *, where: str) -> BiLmConfig:
    """Return the model that the options describe; CheckpointError names the key that is wrong."""
    top = _checked(options, _TOP_KEYS, required=["lstm"], where=where, path="")
    lstm = _checked(
        top["lstm"], _LSTM_KEYS, required=["dim", "projection_dim"], where=where, path="lstm."
    )
    if top.get("reverse"):
        raise CheckpointError(
            f"{where}: reverse: a one-directional model of reversed text is not a biLM"
        )
    try:
        return BiLmConfig(
            token_encoder=_token_encoder(top, lstm["projection_dim"], where),
            lstm=BiLstmpConfig(
                cell_dim=lstm["dim"],
                projection_dim=lstm["projection_dim"],
                num_layers=lstm.get("n_layers", 1),
                cell_clip=_clip(lstm.get("cell_clip")),
                proj_clip=_clip(lstm.get("proj_clip")),
                residual=lstm.get("use_skip_connections", False),
            ),
        )
    except CheckpointError:
        raise
    except (ValueError, OverflowError) as error:
        raise CheckpointError(f"{where}: {error}") from error


def _clip(bound: int | float | None) -> float | None:
    return None if bound is None else float(bound)  # files hold 3 as often as 3.0


def _token_encoder(
    top: Mapping[str, Any], projection_dim: int, where: str
) -> CharCnnConfig | WordEmbeddingConfig:
    if "char_cnn" not in top:
        if "n_tokens_vocab" not in top:
            raise CheckpointError(
                f"{where}: a model without char_cnn needs n_tokens_vocab, its vocabulary size"
            )
        return WordEmbeddingConfig(vocab_size=top["n_tokens_vocab"], projection_dim=projection_dim)
    required = ["embedding", "filters", "n_characters", "max_characters_per_token"]
    cnn = _checked(
        top["char_cnn"], _CHAR_CNN_KEYS, required=required, where=where, path="char_cnn."
    )
    embedding = _checked(
        cnn["embedding"], {"dim": int}, required=["dim"], where=where, path="char_cnn.embedding."
    )
    if cnn["n_characters"] not in (_CHARS_IN_TRAINING, _CHARS_IN_USE):
        raise CheckpointError(
            f"{where}: char_cnn.n_characters must be 261 or 262 (256 bytes and the marks); "
            f"got {cnn['n_characters']}"
        )
    for pair in cnn["filters"]:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)):
            raise CheckpointError(
                f"{where}: char_cnn.filters must be [width, count] pairs; got {pair!r}"
            )
    return CharCnnConfig(
        char_dim=embedding["dim"],
        filters=tuple((width, count) for width, count in cnn["filters"]),
        projection_dim=projection_dim,
        max_chars=cnn["max_characters_per_token"],
        num_char_ids=_NUM_CHAR_IDS,
        num_highway=cnn.get("n_highway", 0),
        activation=cnn.get("activation", "relu"),
    )


def _checked(
    section: object, kinds: Mapping[str, Any], *, required: list[str], where: str, path: str
) -> dict[str, Any]:
    """Return the section without its null values, all keys known and of the right kind."""
    if not isinstance(section, dict):
        raise CheckpointError(
            f"{where}: {path.rstrip('.') or 'the file'} must be a JSON object; got {section!r}"
        )
    found = {k: v for k, v in section.items() if not (v is None and k in _OPTIONAL)}
    for key, value in found.items():
        if key not in kinds:
            raise CheckpointError(
                f"{where}: unknown key {path}{key}; known here: {', '.join(sorted(kinds))}"
            )
        kind = kinds[key]
        # bool is an int to Python, never to a reader of the file
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            raise CheckpointError(f"{where}: {path}{key} must be of type {names}; got {value!r}")
    missing = [f"{path}{key}" for key in required if key not in found]
    if missing:
        raise CheckpointError(f"{where}: missing key {', '.join(missing)}")
    return found


def options_from_config(config: BiLmConfig) -> dict[str, Any]:
    """Return the options that AllenNLP needs to load the model."""
    lstm = config.lstm
    options: dict[str, Any] = {
        "lstm": {
            "use_skip_connections": lstm.residual,
            "projection_dim": lstm.projection_dim,
            "cell_clip": lstm.cell_clip,
            "proj_clip": lstm.proj_clip,
            "dim": lstm.cell_dim,
            "n_layers": lstm.num_layers,
        }
    }
    encoder = config.token_encoder
    if isinstance(encoder, CharCnnConfig):
        options["char_cnn"] = {
            "activation": encoder.activation,
            "filters": [list(pair) for pair in encoder.filters],
            "n_highway": encoder.num_highway,
            "embedding": {"dim": encoder.char_dim},
            "n_characters": _CHARS_IN_USE,
            "max_characters_per_token": encoder.max_chars,
        }
    else:
        options["n_tokens_vocab"] = encoder.vocab_size
    return options
