import errno
import os
import shutil
from pathlib import Path

import pytest

from elmo_torch.embed.vectors_files import open_writer
from elmo_torch.errors import OutputError
from tests.embed.vectors_files.records import ALL_LAYERS, IN_PARTS, results, write


def refusal(target: Path) -> str | None:
    """Write the text, and return what was said if that could not be done."""
    try:
        write(target)
    except OutputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("suffix", IN_PARTS)
@pytest.mark.parametrize("free_bytes", range(0, 160_000, 8192))
def test_a_disk_that_fills_up_is_an_error_of_one_line_and_the_job_goes_on_when_there_is_space(
    small_disk: Path, tmp_path: Path, suffix: str, free_bytes: int
) -> None:
    write(tmp_path / f"v{suffix}")
    ballast, target = small_disk / "ballast", small_disk / f"v{suffix}"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - free_bytes))
    message = refusal(target)
    if message is not None:
        assert message.startswith(str(target))
        assert "No space left on device" in message
        assert "\n" not in message
        assert not target.exists()
        partial = target.with_name(target.name + ".partial")
        assert not list(partial.glob("*.partial"))
        num_parts = len(list(partial.glob("part-*")))
        ballast.unlink()
        assert write(target, resume=True) == num_parts
    assert target.read_bytes() == (tmp_path / f"v{suffix}").read_bytes()


@pytest.mark.parametrize("free_bytes", [0, 4096, 40_960])
def test_a_full_disk_leaves_nothing_of_an_npz(small_disk: Path, free_bytes: int) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - free_bytes))
    window = results(ALL_LAYERS)

    def write_100_kilobytes() -> None:
        with open_writer(small_disk / "v.npz", ALL_LAYERS, settings={}, resume=False) as writer:
            for part in range(100):
                writer.write_part(part * len(window), window)
            writer.finish()

    with pytest.raises(OutputError, match=r"v\.npz: cannot be written: No space left on device$"):
        write_100_kilobytes()
    assert list(small_disk.iterdir()) == [ballast]


@pytest.mark.parametrize("suffix", [".h5", ".hdf5"])
def test_hdf5_takes_its_space_before_it_writes(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, start: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / f"v{suffix}"
    write(target, stop_after=2)
    with monkeypatch.context() as patch:
        patch.setattr("os.posix_fallocate", full)
        with pytest.raises(OutputError, match=r"part-000002.* cannot be written: No space left"):
            write(target, resume=True)
    assert not target.exists()
    assert write(target, resume=True) == 2


@pytest.mark.parametrize("suffix", [".h5", ".jsonl"])
@pytest.mark.parametrize("failing", ["write_part", "merge"])
def test_a_refused_write_keeps_the_finished_parts(
    tmp_path: Path, suffix: str, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / f"undisturbed{suffix}")
    target = tmp_path / f"v{suffix}"
    target.write_bytes(b"older")
    write(target, stop_after=2)

    def half_then_full(self: object, *args: object) -> None:
        path = next(arg for arg in args if isinstance(arg, Path))
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    made_by = {".h5": "hdf5.Hdf5Format", ".jsonl": "json_lines.JsonLinesFormat"}[suffix]
    with monkeypatch.context() as patch:
        patch.setattr(f"elmo_torch.embed.vectors_files.{made_by}.{failing}", half_then_full)
        with pytest.raises(OutputError, match="cannot be written: No space left on device"):
            write(target, resume=True)
    assert target.read_bytes() == b"older"
    assert write(target, resume=True) == (2 if failing == "write_part" else 4)
    assert target.read_bytes() == (tmp_path / f"undisturbed{suffix}").read_bytes()


def test_an_error_of_the_hdf5_library_becomes_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise RuntimeError(
            "Can't write (file write failed: time = Tue\n, errno = 28, message = ..)"
        )

    monkeypatch.setattr("h5py.File.create_dataset", fail)
    with pytest.raises(OutputError, match=r"part-000000\.h5: cannot be written: No space left"):
        write(tmp_path / "v.h5")
