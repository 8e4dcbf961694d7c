"""A model that does not fit on the disk is refused in one line and leaves nothing."""

import shutil
from pathlib import Path

import pytest

from elmo_torch.errors import OutputError
from elmo_torch.formats.checkpoint import FormatName, load_checkpoint, save_checkpoint
from tests.models import random_checkpoint


def refusal(folder: Path, format: FormatName) -> str | None:
    """Save a model, and return what was said if that could not be done."""
    try:
        save_checkpoint(random_checkpoint(), folder, format=format)
    except OutputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("format", ["native", "bilm"])
@pytest.mark.parametrize("free_bytes", range(0, 240_000, 12_288))
def test_a_model_is_on_the_disk_whole_or_not_at_all(
    small_disk: Path, format: FormatName, free_bytes: int
) -> None:
    ballast, folder = small_disk / "ballast", small_disk / "model"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - free_bytes))
    message = refusal(folder, format)
    if message is None:
        assert load_checkpoint(folder).config == random_checkpoint().config
        assert sorted(small_disk.iterdir()) == [ballast, folder]
    else:
        assert message.startswith(f"{folder}: cannot be written: ")
        assert "No space left on device" in message
        assert "\n" not in message
        assert list(small_disk.iterdir()) == [ballast]
