"""An archive from a stranger writes nothing outside of its folder, whatever it holds."""

import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from elmo_torch.errors import CheckpointError
from elmo_torch.formats import archives
from elmo_torch.formats.archives import unpacked


def make_tar(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for member in members:
            file.addfile(member, io.BytesIO(b"x" * member.size) if member.isfile() else None)
    return path


def tar_member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, 3 if kind == tarfile.REGTYPE else 0
    return member


def open_archive(path: Path) -> None:
    with unpacked(path):
        pass


@pytest.mark.parametrize("name", ["../outside.txt", "a/../../outside.txt", "/tmp/outside-elmo.txt"])
def test_members_outside_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    with zipfile.ZipFile(inner / "a.zip", "w") as file:
        file.writestr(name, "x")
    for path in (inner / "a.zip", make_tar(inner / "a.tar.gz", tar_member(name))):
        with pytest.raises(CheckpointError, match="outside of the archive"):
            open_archive(path)
    assert [p.name for p in tmp_path.iterdir()] == ["inner"]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = make_tar(tmp_path / "a.tar.gz", tar_member("weights.hdf5", kind, "/etc/passwd"))
    with pytest.raises(CheckpointError, match=r"weights\.hdf5, a link or device"):
        open_archive(path)


def test_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("weights.hdf5")
    member.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(member, "/etc/passwd")
    with pytest.raises(CheckpointError, match="a link"):
        open_archive(tmp_path / "a.zip")


def test_absurd_sizes_are_refused_before_unpacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 2)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("options.json", "xxx")
    for path in (tmp_path / "a.zip", make_tar(tmp_path / "a.tar.gz", tar_member("options.json"))):
        with pytest.raises(CheckpointError, match="no ELMo model has"):
            open_archive(path)


@pytest.mark.parametrize("keep", [0.0, 0.2, 0.5, 0.95])
def test_damaged_archives_are_named(tmp_path: Path, keep: float) -> None:
    content = random.Random(0).randbytes(9000)  # does not compress, so every cut is in it
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("options.json", content)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        member = tar_member("options.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    for path in (tmp_path / "a.zip", tmp_path / "a.tar.gz"):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * keep)])
        with pytest.raises(CheckpointError, match=path.name):
            open_archive(path)


def test_the_unpacked_folder_goes_away(tmp_path: Path) -> None:
    with unpacked(make_tar(tmp_path / "a.tar.gz", tar_member("options.json"))) as folder:
        assert (folder / "options.json").read_bytes() == b"xxx"
    assert not folder.exists()
