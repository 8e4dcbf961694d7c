import io
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmo_torch.errors import InputError, OutputError
from elmo_torch.integrations.allennlp import ElmoEmbedder
from tests.helpers import PROJ
from tests.integrations.allennlp.pairs import Pair

DIM = 2 * PROJ
LINES = ["The bank is steep", "", "Yes", "  the\tloan  ", "Yes"]


@pytest.fixture(scope="module")
def embedder(pair: Pair) -> ElmoEmbedder:
    return ElmoEmbedder(*pair)


def text(lines: list[str]) -> io.StringIO:
    return io.StringIO("".join(line + "\n" for line in lines))


def test_every_line_has_a_dataset_under_its_number_blank_ones_too(
    embedder: ElmoEmbedder, tmp_path: Path
) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text(LINES), path)
    with h5py.File(path, "r") as file:
        assert set(file) == {"0", "1", "2", "3", "4", "sentence_to_index"}
        shapes = [file[str(number)].shape for number in range(5)]
        assert shapes == [(3, 4, DIM), (3, 0, DIM), (3, 1, DIM), (3, 2, DIM), (3, 1, DIM)]
        for number, line in enumerate(LINES):
            layers = file[str(number)]
            assert layers.dtype == np.float32
            assert layers.compression is None
            assert layers.chunks is None
            # sums in another order: float32 at values of about 1 differs by some 1e-7
            alone = embedder.embed_sentence(line.split())
            np.testing.assert_allclose(layers[()], alone, rtol=0, atol=1e-6)


def test_the_index_leads_from_a_line_to_its_last_number(
    embedder: ElmoEmbedder, tmp_path: Path
) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text([*LINES, "\u00e9t\u00e9 \U0001f600"]), path)
    with h5py.File(path, "r") as file:
        index = file["sentence_to_index"]
        assert index.shape == (1,)
        assert h5py.check_string_dtype(index.dtype).length is None  # of variable length
        assert json.loads(index[0]) == {
            "The bank is steep": "0",
            "the\tloan": "3",
            "Yes": "4",
            "\u00e9t\u00e9 \U0001f600": "5",
        }


@pytest.mark.parametrize("output_format", ["top", "average"])
def test_one_layer_is_the_top_or_the_mean_of_all(
    embedder: ElmoEmbedder, tmp_path: Path, output_format: str
) -> None:
    embedder.embed_file(text(LINES), tmp_path / "all.hdf5")
    embedder.embed_file(text(LINES), tmp_path / "one.hdf5", output_format)
    with h5py.File(tmp_path / "all.hdf5") as whole, h5py.File(tmp_path / "one.hdf5") as one:
        assert one["1"].shape == (0, DIM)
        for number in map(str, range(5)):
            layers = whole[number][()]
            expected = layers[-1] if output_format == "top" else layers.mean(axis=0)
            assert one[number].dtype == np.float32
            assert np.array_equal(one[number][()], expected)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_the_batch_size_does_not_show_in_the_file(
    embedder: ElmoEmbedder, tmp_path: Path, batch_size: int
) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text(LINES), path, batch_size=batch_size)
    with h5py.File(path) as file:
        for number, line in enumerate(LINES):
            # sums in another order: float32 at values of about 1 differs by some 1e-7
            np.testing.assert_allclose(
                file[str(number)][()], embedder.embed_sentence(line.split()), rtol=0, atol=1e-6
            )


def test_forgotten_sentences_leave_no_index(embedder: ElmoEmbedder, tmp_path: Path) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text(LINES), path, forget_sentences=True)
    with h5py.File(path) as file:
        assert set(file) == {"0", "1", "2", "3", "4"}


def test_the_lines_themselves_can_be_the_keys_without_an_index(
    embedder: ElmoEmbedder, tmp_path: Path
) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text(["Yes", "and / or", "Yes"]), path, use_sentence_keys=True)
    with h5py.File(path) as file:
        assert set(file) == {"Yes", "and "}  # a slash opens a group
        assert file["Yes"].shape == (3, 1, DIM)
        assert file["and / or"].shape == (3, 3, DIM)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a", ""], "line 2: '' cannot be a key"),
        (["a", "b", "x\0y"], r"line 3: 'x\\x00y' cannot be a key"),
        (["a", "a/b"], "line 2: 'a/b' cannot be a key of an HDF5 file beside those before"),
    ],
)
def test_a_line_that_can_be_no_key_is_named_and_leaves_no_file(
    embedder: ElmoEmbedder, tmp_path: Path, lines: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        embedder.embed_file(text(lines), tmp_path / "vectors.hdf5", use_sentence_keys=True)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused_before_any_work(
    embedder: ElmoEmbedder, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="must be all, top or average; got 'mean'"):
        embedder.embed_file(text(LINES), tmp_path / "vectors.hdf5", "mean")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_older_file_as_it_was(
    embedder: ElmoEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text(LINES), path)
    before = path.read_bytes()

    def fail(batch: list[list[str]]) -> list[np.ndarray]:
        raise RuntimeError("the model broke")

    monkeypatch.setattr(embedder, "embed_batch", fail)
    with pytest.raises(RuntimeError, match="the model broke"):
        embedder.embed_file(text(["a", "b"]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(embedder: ElmoEmbedder, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere.vectors\.hdf5: cannot be written"):
        embedder.embed_file(text(LINES), tmp_path / "nowhere" / "vectors.hdf5")


def test_an_empty_text_gives_an_empty_index(embedder: ElmoEmbedder, tmp_path: Path) -> None:
    path = tmp_path / "vectors.hdf5"
    embedder.embed_file(text([]), path)
    with h5py.File(path) as file:
        assert json.loads(file["sentence_to_index"][0]) == {}
