"""The HDF5 file of ``ElmoEmbedder.embed_file``: one float32 dataset a line, and an index of lines."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import h5py
from jaxtyping import Float32
from numpy import ndarray

from elmo_torch.errors import InputError
from elmo_torch.files import writing_whole

__all__ = ["write_embeddings"]

_FORMATS = ("all", "top", "average")
_INDEX = "sentence_to_index"


def write_embeddings(
    path: Path,
    lines: Sequence[str],
    embeddings: Iterable[Float32[ndarray, "layers _tokens dim"]],
    *,
    output_format: str,
    forget_sentences: bool,
    use_sentence_keys: bool,
) -> None:
    """Write the layers of every line; arguments as ``embed_file``'s. Raises InputError, OutputError."""
    if output_format not in _FORMATS:
        raise InputError(f"output_format must be all, top or average; got {output_format!r}")
    keys = {line: line if use_sentence_keys else str(number) for number, line in enumerate(lines)}
    written = set()
    with writing_whole(path) as partial, h5py.File(partial, "w") as file:
        if not forget_sentences:
            index = file.create_dataset(_INDEX, (1,), dtype=h5py.string_dtype())
            index[0] = json.dumps(keys)  # a repeated line has the key of its last place
        for number, (line, layers) in enumerate(zip(lines, embeddings, strict=True)):
            if not use_sentence_keys:
                file.create_dataset(str(number), data=_formatted(layers, output_format))
            elif line not in written:
                _write_under_line(file, line, number, _formatted(layers, output_format))
                written.add(line)


def _write_under_line(
    file: h5py.File, line: str, number: int, data: Float32[ndarray, "*kept tokens dim"]
) -> None:
    """Write one dataset under the line itself; as in AllenNLP, a "/" in it opens a group."""
    try:
        if not line or "\0" in line:
            raise ValueError("a key is not blank and holds no NUL")
        file.create_dataset(line, data=data)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"line {number + 1}: {line!r} cannot be a key of an HDF5 file beside those before it "
            f"({error}); leave out use_sentence_keys"
        ) from error


def _formatted(
    layers: Float32[ndarray, "layers tokens dim"], output_format: str
) -> Float32[ndarray, "*kept tokens dim"]:
    if output_format == "all":
        return layers
    kept: ndarray = layers[-1] if output_format == "top" else layers.mean(axis=0)
    return kept
