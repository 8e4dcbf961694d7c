from pathlib import Path

import pytest

from elmo_torch.embed.vectors_files import check_target, open_writer
from elmo_torch.errors import OutputError
from tests.embed.vectors_files.records import ALL_LAYERS, IN_PARTS, write

FORMATS = [*IN_PARTS, ".npz"]


@pytest.mark.parametrize("name", ["v.txt", "v", "v.jsonl.gz"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        OutputError, match=r"v.*: the suffix .* \.h5 \.hdf5 \.parquet \.jsonl \.npz; - writes"
    ):
        check_target(tmp_path / name)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / "none" / f"v{suffix}"
    with pytest.raises(OutputError, match=f"^{target}: there is no folder {target.parent}"):
        check_target(target)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OutputError, match="there is no folder"):
        open_writer(tmp_path / "file" / f"v{suffix}", ALL_LAYERS, settings={}, resume=False)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_target_that_is_a_folder_is_refused(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"v{suffix}").mkdir()
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        check_target(tmp_path / f"v{suffix}")


def test_a_folder_without_permission_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(OutputError, match="cannot be written to"):
        check_target(tmp_path / "v.h5")


@pytest.mark.parametrize("suffix", FORMATS)
def test_something_else_under_the_name_of_the_partial_is_an_error_that_names_it(
    tmp_path: Path, suffix: str
) -> None:
    partial = tmp_path / f"v{suffix}.partial"
    if suffix == ".npz":
        partial.mkdir()
    else:
        partial.write_text("a file")
    with pytest.raises(
        OutputError, match=f"v{suffix}.*: cannot be written: (File exists|Is a dir)"
    ):
        open_writer(tmp_path / f"v{suffix}", ALL_LAYERS, settings={}, resume=False)
    assert partial.exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_check_leaves_no_trace(tmp_path: Path, suffix: str) -> None:
    check_target(tmp_path / f"v{suffix}")
    check_target("-")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["v.H5", "v.JSONL"])
def test_capitals_in_a_suffix_do_not_matter(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_written_in_one_go_cannot_be_resumed(tmp_path: Path) -> None:
    for target, place in ((str(tmp_path / "v.npz"), "v.npz"), ("-", "standard output")):
        with pytest.raises(OutputError, match=rf"{place}: .*cannot be resumed; \.h5 .*can$"):
            open_writer(target, ALL_LAYERS, settings={}, resume=True)
    assert not list(tmp_path.iterdir())
