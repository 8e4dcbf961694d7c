import tracemalloc
from pathlib import Path
from typing import Literal

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


@pytest.mark.parametrize("layout", [ALL_LAYERS, ONE_VECTOR])
def test_a_file_has_one_array_a_line_with_the_vectors_as_they_are(
    tmp_path: Path, layout: VectorsLayout
) -> None:
    write(tmp_path / "v.npz", layout)
    with np.load(tmp_path / "v.npz", allow_pickle=False) as file:
        assert file.files == [str(number) for number in range(len(SENTENCES))]
        for number, result in enumerate(results(layout)):
            assert file[str(number)].dtype == np.float32
            np.testing.assert_array_equal(file[str(number)], layout.values(result))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_number_type_is_the_one_asked_for(
    tmp_path: Path, dtype: Literal["float32", "float16"]
) -> None:
    layout = VectorsLayout(layer_names=(0, 1, 2), dim=DIM, dtype=dtype)
    write(tmp_path / "v.npz", layout)
    with np.load(tmp_path / "v.npz", allow_pickle=False) as file:
        for number, result in enumerate(results(layout)):
            assert file[str(number)].dtype == dtype
            np.testing.assert_array_equal(file[str(number)], result.vectors.astype(dtype))


def test_equal_vectors_give_equal_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "today.npz")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write(tmp_path / "later.npz")
    assert (tmp_path / "today.npz").read_bytes() == (tmp_path / "later.npz").read_bytes()


def test_memory_holds_one_sentence_and_not_the_file(tmp_path: Path) -> None:
    sentence = results_of([("a",) * 2000], 0, ALL_LAYERS)  # 192 kB
    with open_writer(tmp_path / "v.npz", ALL_LAYERS, settings={}, resume=False) as writer:
        tracemalloc.start()
        try:
            for number in range(50):
                writer.write_part(number, sentence)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        writer.finish()
    size = (tmp_path / "v.npz").stat().st_size
    assert size > 50 * sentence[0].vectors.nbytes
    # numpy hands the array over in one piece, and the list of names takes under 1 kB a sentence
    assert peak < 3 * sentence[0].vectors.nbytes < size / 10


@pytest.mark.parametrize("error", [RuntimeError("the model fell over"), KeyboardInterrupt()])
def test_an_interrupted_run_leaves_nothing_and_an_older_file_as_it_was(
    tmp_path: Path, error: BaseException
) -> None:
    target = tmp_path / "v.npz"
    target.write_bytes(b"older")

    def interrupted() -> None:
        with open_writer(target, ALL_LAYERS, settings={}, resume=False) as writer:
            writer.write_part(0, results(ALL_LAYERS))
            raise error

    with pytest.raises(type(error)):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["v.npz"]
    assert target.read_bytes() == b"older"


def test_leaving_without_finish_makes_no_file(tmp_path: Path) -> None:
    write(tmp_path / "v.npz", stop_after=2)
    assert not list(tmp_path.iterdir())


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "v.npz").write_bytes(b"older")
    write(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz") as file:
        assert len(file.files) == len(SENTENCES)
