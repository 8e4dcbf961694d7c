import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_torch.embed.vectors_files import open_writer
from elmo_torch.errors import OutputError
from tests.embed.vectors_files.records import (
    ALL_LAYERS,
    IN_PARTS,
    ONE_VECTOR,
    SETTINGS,
    WINDOWS,
    results,
    write,
)

pytestmark = pytest.mark.parametrize("suffix", IN_PARTS)


@pytest.fixture
def target(tmp_path: Path, suffix: str) -> Path:
    return tmp_path / f"v{suffix}"


@pytest.fixture
def partial(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


@pytest.fixture
def undisturbed(tmp_path: Path, suffix: str) -> bytes:
    """The file of a job that was never killed."""
    path = tmp_path / "undisturbed" / f"v{suffix}"
    path.parent.mkdir()
    write(path)
    assert [path.name for path in path.parent.iterdir()] == [path.name]
    return path.read_bytes()


@pytest.mark.parametrize("done", range(len(WINDOWS) + 1))
def test_a_job_killed_between_parts_goes_on_and_makes_the_same_file(
    target: Path, partial: Path, undisturbed: bytes, done: int
) -> None:
    write(target, stop_after=done)
    assert not target.exists()
    assert write(target, resume=True) == done
    assert target.read_bytes() == undisturbed
    assert not partial.exists()


def test_half_a_part_is_written_again(
    target: Path, partial: Path, undisturbed: bytes, suffix: str
) -> None:
    write(target, stop_after=2)
    half = (partial / f"part-000001{suffix}").read_bytes()[:100]
    (partial / f"part-000002{suffix}.partial").write_bytes(half)
    assert write(target, resume=True) == 2
    assert target.read_bytes() == undisturbed
    assert not partial.exists()


@pytest.mark.parametrize("leftover", ["merged", "merged.partial"])
def test_half_a_merge_is_made_again(
    target: Path, partial: Path, undisturbed: bytes, leftover: str
) -> None:
    write(target, stop_after=len(WINDOWS))
    (partial / leftover).write_bytes(undisturbed[: len(undisturbed) // 2])
    assert write(target, resume=True) == len(WINDOWS)
    assert target.read_bytes() == undisturbed
    assert not partial.exists()


def test_parts_after_a_gap_are_written_again(
    target: Path, partial: Path, undisturbed: bytes, suffix: str
) -> None:
    write(target, stop_after=3)
    (partial / f"part-000001{suffix}").unlink()
    assert write(target, resume=True) == 1
    assert target.read_bytes() == undisturbed


@pytest.mark.parametrize("killed_twice", [0, 1, 3])
def test_a_job_may_be_killed_more_than_once(
    target: Path, undisturbed: bytes, killed_twice: int
) -> None:
    write(target, stop_after=1)
    write(target, resume=True, stop_after=killed_twice)
    assert write(target, resume=True) == max(1, killed_twice)
    assert target.read_bytes() == undisturbed


def test_resume_without_a_killed_job_just_starts(target: Path, undisturbed: bytes) -> None:
    assert write(target, resume=True) == 0
    assert target.read_bytes() == undisturbed


def test_parts_without_settings_are_not_trusted(
    target: Path, partial: Path, undisturbed: bytes
) -> None:
    write(target, ONE_VECTOR, stop_after=3)
    (partial / "run.json").unlink()
    assert write(target, resume=True) == 0
    assert target.read_bytes() == undisturbed


def test_damaged_settings_are_named(target: Path, partial: Path) -> None:
    write(target, stop_after=1)
    (partial / "run.json").write_bytes(b'{"text": "\xff')
    with pytest.raises(OutputError, match=r"run\.json: is damaged; start anew, without resume"):
        write(target, resume=True)


def test_without_resume_the_parts_of_a_killed_job_are_thrown_away(
    target: Path, partial: Path, undisturbed: bytes
) -> None:
    write(target, ONE_VECTOR, settings={"text": "another"}, stop_after=3)
    assert write(target, resume=False) == 0
    assert target.read_bytes() == undisturbed
    assert not partial.exists()


@pytest.mark.parametrize(
    ("name", "value"), [("text", "b.txt, 60 bytes"), ("layers", [0, 2]), ("max_batch_tokens", 512)]
)
def test_other_settings_are_refused_with_the_one_that_differs_and_the_parts_stay(
    target: Path, undisturbed: bytes, name: str, value: object
) -> None:
    write(target, stop_after=2)
    had, has = json.dumps(SETTINGS[name]), json.dumps(value)
    with pytest.raises(
        OutputError,
        match=re.escape(f"{target}: cannot be resumed: the killed run had {name} {had}, this one")
        + f".*{re.escape(has)}",
    ) as caught:
        write(target, resume=True, settings={**SETTINGS, name: value})
    assert "\n" not in str(caught.value)
    assert write(target, resume=True) == 2
    assert target.read_bytes() == undisturbed


def test_another_layout_is_refused_even_with_the_same_settings(target: Path) -> None:
    write(target, stop_after=2)
    with pytest.raises(OutputError, match=r"layer_names \[0, 1, 2\], this one has null"):
        write(target, ONE_VECTOR, resume=True)


def test_a_setting_that_only_one_of_the_runs_has_is_a_difference(target: Path) -> None:
    write(target, stop_after=1)
    with pytest.raises(OutputError, match=r"had raw null, this one has true"):
        write(target, resume=True, settings={**SETTINGS, "raw": True})
    with pytest.raises(OutputError, match=r'had text "a.txt, 60 bytes", this one has null'):
        write(target, resume=True, settings={k: v for k, v in SETTINGS.items() if k != "text"})


@pytest.mark.parametrize("error", [RuntimeError("the model fell over"), KeyboardInterrupt()])
def test_after_an_error_or_an_interrupt_the_finished_parts_stay(
    target: Path, undisturbed: bytes, error: BaseException
) -> None:
    target.write_bytes(b"older")

    def interrupted() -> None:
        with open_writer(target, ALL_LAYERS, settings=SETTINGS, resume=False) as writer:
            writer.write_part(0, results(ALL_LAYERS)[:3])
            raise error

    with pytest.raises(type(error)):
        interrupted()
    assert target.read_bytes() == b"older"
    assert write(target, resume=True) == 1
    assert target.read_bytes() == undisturbed


def test_an_interrupt_inside_a_part_leaves_the_parts_before_it(
    target: Path, undisturbed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with open_writer(target, ALL_LAYERS, settings=SETTINGS, resume=False) as writer:
        writer.write_part(0, results(ALL_LAYERS)[:3])
        with monkeypatch.context() as patch:
            patch.setattr("elmo_torch.embed.vectors_files.layout.VectorsLayout.values", interrupt)
            with pytest.raises(KeyboardInterrupt):
                writer.write_part(3, results(ALL_LAYERS)[3:4])
    assert write(target, resume=True) == 1
    assert target.read_bytes() == undisturbed


def test_a_second_job_for_the_same_file_is_refused_while_the_first_lives(
    target: Path, partial: Path, undisturbed: bytes
) -> None:
    with open_writer(target, ALL_LAYERS, settings=SETTINGS, resume=False) as writer:
        writer.write_part(0, results(ALL_LAYERS)[:3])
        for resume in (False, True):
            with pytest.raises(OutputError, match=f"^{partial}: another run is writing it"):
                write(target, resume=resume)
    assert write(target, resume=True) == 1
    assert target.read_bytes() == undisturbed


def test_what_a_user_has_put_into_the_folder_is_never_removed(
    target: Path, partial: Path, undisturbed: bytes
) -> None:
    write(target, stop_after=1)
    (partial / "notes.txt").write_text("mine")
    write(target)
    assert target.read_bytes() == undisturbed
    assert [path.name for path in partial.iterdir()] == ["notes.txt"]


def test_a_job_killed_before_any_change_on_disk_leaves_the_old_file_or_the_whole_new_one(
    tmp_path: Path, suffix: str
) -> None:
    # The program kills itself before its first change on disk, then its second, and so on; after
    # each kill a resumed job must make the undisturbed file. It stops at the first that is wrong.
    done = subprocess.run(
        [sys.executable, "-m", "tests.embed.vectors_files.kill_everywhere", tmp_path, suffix],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # at the least: folder, settings, a file and its rename a part, the merge, and the removals
    assert int(done.stdout) > 5 * len(WINDOWS)


def test_memory_does_not_grow_with_the_number_of_parts(tmp_path: Path, suffix: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.embed.vectors_files.merge_memory", tmp_path / f"v{suffix}"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    file_bytes, grown_bytes = map(int, done.stdout.split())
    assert file_bytes > 25e6
    # Measured: hdf5 41, parquet 43 MB of 170 (buffers, libraries loaded late), jsonl 0.1 of 35 MB.
    # A merge that holds everything grows by all of the file.
    assert grown_bytes < file_bytes / 2
    shutil.rmtree(tmp_path)
