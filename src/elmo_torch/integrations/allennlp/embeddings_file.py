"""The HDF5 file of ``ElmoEmbedder.embed_file``: one float32 dataset a line, and an index of lines.

The key of a line is its number from 0, or the line itself; only numbers come with the index.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import h5py
from jaxtyping import Float32
from numpy import ndarray

from elmo_torch.errors import InputError
from elmo_torch.files import writing_whole
from elmo_torch.formats.hdf5_file import BYTES_PER_DATASET, creating_hdf5

__all__ = ["write_embeddings"]

_FORMATS = ("all", "top", "average")
_INDEX = "sentence_to_index"


def write_embeddings(
    path: Path,
    lines: Sequence[str],
    embeddings: Iterable[Float32[ndarray, "layers _tokens dim"]],
    *,
    layers_and_dim: tuple[int, int],
    output_format: str,
    forget_sentences: bool,
    use_sentence_keys: bool,
) -> None:
    """Write the layers of every line; arguments as ``embed_file``'s.

    ``layers_and_dim`` says how large they are, so that the disk is known to have the space.
    Raises InputError, OutputError.
    """
    if output_format not in _FORMATS:
        raise InputError(f"output_format must be all, top or average; got {output_format!r}")
    if use_sentence_keys:
        _check_keys(lines)
    num_tokens = sum(len(line.split()) for line in lines)
    num_vectors = num_tokens * (layers_and_dim[0] if output_format == "all" else 1)
    # each "/" of a key opens a group; each line stands once in the index too
    num_names = len(lines) + sum(line.count("/") for line in lines)
    num_bytes = 4 * num_vectors * layers_and_dim[1] + num_names * BYTES_PER_DATASET
    num_bytes += sum(8 * len(line) for line in lines)
    with writing_whole(path) as partial, creating_hdf5(partial, num_bytes) as file:
        if use_sentence_keys:
            _write_under_lines(file, lines, embeddings, output_format)
            return
        for number, layers in enumerate(embeddings):
            file.create_dataset(str(number), data=_formatted(layers, output_format))
        if not forget_sentences:
            index = file.create_dataset(_INDEX, (1,), dtype=h5py.string_dtype())
            # a repeated line has the key of its last place, as in AllenNLP; a blank one has no text
            index[0] = json.dumps({line: str(number) for number, line in enumerate(lines) if line})


def _check_keys(lines: Sequence[str]) -> None:
    """Refuse lines that no HDF5 key can be, before hours of work on the others."""
    for number, line in enumerate(lines):
        if not line or "\0" in line:
            raise InputError(
                f"line {number + 1}: {line!r} cannot be a key of an HDF5 file, which is neither "
                "blank nor holds NUL; remove the line, or leave out use_sentence_keys"
            )


def _write_under_lines(
    file: h5py.File,
    lines: Sequence[str],
    embeddings: Iterable[Float32[ndarray, "layers _tokens dim"]],
    output_format: str,
) -> None:
    """Write each distinct line under itself; as in AllenNLP, a "/" in it opens a group."""
    written = set()
    for number, (line, layers) in enumerate(zip(lines, embeddings, strict=True)):
        if line in written:
            continue
        try:
            file.create_dataset(line, data=_formatted(layers, output_format))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"line {number + 1}: {line!r} cannot be a key of an HDF5 file beside those before "
                f"it ({error}); leave out use_sentence_keys"
            ) from error
        written.add(line)


def _formatted(
    layers: Float32[ndarray, "layers tokens dim"], output_format: str
) -> Float32[ndarray, "*kept tokens dim"]:
    if output_format == "all":
        return layers
    kept: ndarray = layers[-1] if output_format == "top" else layers.mean(axis=0)
    return kept
