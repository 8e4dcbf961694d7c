import json
from pathlib import Path
from typing import Literal

import h5py
import numpy as np
import pytest

from elmo_torch.embed.vectors_files import VectorsLayout, open_writer
from tests.embed.vectors_files.records import (
    ALL_LAYERS,
    DIM,
    ONE_VECTOR,
    SENTENCES,
    results,
    results_of,
    write,
)

ONE_LISTED = VectorsLayout(layer_names=(1,), dim=DIM, dtype="float32")


@pytest.mark.parametrize("layout", [ALL_LAYERS, ONE_LISTED, ONE_VECTOR])
def test_a_file_has_one_dataset_a_line_with_the_vectors_as_they_are(
    tmp_path: Path, layout: VectorsLayout
) -> None:
    write(tmp_path / "v.h5", layout)
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {*map(str, range(len(SENTENCES))), "sentence_to_index"}
        for number, result in enumerate(results(layout)):
            dataset = file[str(number)]
            assert dataset.dtype == np.float32
            np.testing.assert_array_equal(dataset[()], layout.values(result))


def test_a_blank_line_is_a_dataset_without_tokens(tmp_path: Path) -> None:
    write(tmp_path / "all.h5", ALL_LAYERS)
    write(tmp_path / "one.h5", ONE_VECTOR)
    with h5py.File(tmp_path / "all.h5") as layers, h5py.File(tmp_path / "one.h5") as vectors:
        for number, sentence in enumerate(SENTENCES):
            assert layers[str(number)].shape == (3, len(sentence), DIM)
            assert vectors[str(number)].shape == (len(sentence), DIM)


def test_datasets_are_plain_as_allennlp_writes_them(tmp_path: Path) -> None:
    write(tmp_path / "v.h5")
    with h5py.File(tmp_path / "v.h5") as file:
        for dataset in file.values():
            assert dataset.chunks is None
            assert dataset.compression is None
            assert not dataset.attrs


def test_sentence_to_index_leads_from_a_text_to_its_last_line_and_leaves_blank_lines_out(
    tmp_path: Path,
) -> None:
    write(tmp_path / "v.h5")
    expected: dict[str, str] = {}  # as AllenNLP fills it
    for number, sentence in enumerate(SENTENCES):
        if sentence:
            expected[" ".join(sentence)] = str(number)
    assert expected["b"] == "5"  # also line 2: this text does have a repeated sentence
    with h5py.File(tmp_path / "v.h5") as file:
        dataset = file["sentence_to_index"]
        assert dataset.shape == (1,)
        assert h5py.check_string_dtype(dataset.dtype) == ("utf-8", None)
        assert list(json.loads(dataset[0]).items()) == list(expected.items())


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_number_type_is_the_one_asked_for(
    tmp_path: Path, dtype: Literal["float32", "float16"]
) -> None:
    layout = VectorsLayout(layer_names=(0, 1, 2), dim=DIM, dtype=dtype)
    write(tmp_path / "v.h5", layout)
    with h5py.File(tmp_path / "v.h5") as file:
        for number, result in enumerate(results(layout)):
            assert file[str(number)].dtype == dtype
            np.testing.assert_array_equal(file[str(number)][()], result.vectors.astype(dtype))


def test_a_text_without_lines_gives_an_empty_index_and_nothing_else(tmp_path: Path) -> None:
    with open_writer(tmp_path / "v.h5", ALL_LAYERS, settings={}, resume=False) as writer:
        writer.finish()
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {"sentence_to_index"}
        assert json.loads(file["sentence_to_index"][0]) == {}


@pytest.mark.parametrize(("num_sentences", "num_tokens"), [(1, 0), (700, 1), (40, 300)])
def test_the_space_taken_beforehand_is_enough_and_what_is_left_over_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_sentences: int, num_tokens: int
) -> None:
    # A file that outgrew its reserve could meet a full disk, which the HDF5 library does not survive.
    taken: list[int] = []
    monkeypatch.setattr("os.posix_fallocate", lambda file, start, size: taken.append(size))
    window = [(f"word{number}",) * num_tokens for number in range(num_sentences)]
    with open_writer(tmp_path / "v.h5", ALL_LAYERS, settings={}, resume=False) as writer:
        writer.write_part(0, results_of(window, 0, ALL_LAYERS))
        writer.write_part(num_sentences, results_of(window, num_sentences, ALL_LAYERS))
        sizes = [part.stat().st_size for part in sorted(tmp_path.glob("*.partial/part-*"))]
        writer.finish()
    sizes.append((tmp_path / "v.h5").stat().st_size)
    assert len(taken) == 3  # two parts and the whole
    assert all(size <= reserve for size, reserve in zip(sizes, taken, strict=True))

    monkeypatch.undo()
    with open_writer(tmp_path / "w.h5", ALL_LAYERS, settings={}, resume=False) as writer:
        writer.write_part(0, results_of(window, 0, ALL_LAYERS))
        writer.write_part(num_sentences, results_of(window, num_sentences, ALL_LAYERS))
        writer.finish()
    assert (tmp_path / "w.h5").read_bytes() == (tmp_path / "v.h5").read_bytes()
