"""For the whole run: on CI generated examples are the same each time; a disk that can be filled."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

_SMALL_DISK_BYTES = 1024 * 1024

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of one megabyte; skips, saying so, where none may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK_BYTES}", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk; the tests with a refused write still run")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)
