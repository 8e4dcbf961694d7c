"""Commands are run as a user runs them, on a small random model."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from elmo_torch.cli.main import app
from elmo_torch.formats.checkpoint import save_checkpoint
from tests.models import random_checkpoint

Elmo = Callable[..., Result]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    save_checkpoint(random_checkpoint(words=("the", "bank", "river")), folder)
    return folder


@pytest.fixture
def elmo() -> Elmo:
    """Return a function that runs ``elmo`` with the given words; standard input by ``stdin``."""

    def run(*words: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words], input=stdin)

    return run


@pytest.fixture
def refused(elmo: Elmo, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a command which must be refused, and gives the line it printed."""

    def run(*words: object, stdin: str | bytes | None = None, code: int = 2) -> str:
        before = sorted(tmp_path.rglob("*"))
        result = elmo(*words, stdin=stdin)
        assert result.exit_code == code, result.output
        assert isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        assert sorted(tmp_path.rglob("*")) == before, "something was left behind"
        lines = result.stderr.strip().splitlines()
        assert len(lines) == 1, lines
        return str(lines[0])

    return run
