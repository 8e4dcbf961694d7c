"""The package as a whole: what it imports when, and what it shows on top."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import elmo_torch

HEAVY = ("torch", "h5py", "numpy", "safetensors")


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after running the code."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import elmo_torch",
        "import elmo_torch; elmo_torch.__version__; dir(elmo_torch)",
        "from typer.testing import CliRunner\nfrom elmo_torch.cli.main import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0",
        "from typer.testing import CliRunner\nfrom elmo_torch.cli.main import app\n"
        "assert CliRunner().invoke(app, ['embed', '--help']).exit_code == 0",
    ],
)
def test_import_and_help_load_nothing_heavy(code: str) -> None:
    assert not modules_after(code) & set(HEAVY)


def test_the_public_names_are_the_promised_ones_and_import() -> None:
    assert set(elmo_torch.__all__) == {
        "Elmo", "Embedder", "Representations", "ScalarMix", "__version__", "load_checkpoint",
    }  # fmt: skip
    for name in elmo_torch.__all__:
        assert getattr(elmo_torch, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = elmo_torch.Nothing


def submodules() -> list[str]:
    return [m.name for m in pkgutil.walk_packages(elmo_torch.__path__, "elmo_torch.")]


@pytest.mark.parametrize("name", submodules())
def test_every_module_names_what_it_offers_and_it_is_there(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    if not hasattr(module, "__path__"):
        for public in module.__all__:
            assert hasattr(module, public)


def test_no_file_is_a_container() -> None:
    containers = {"utils", "util", "common", "helpers", "misc"}
    assert not {name.rpartition(".")[2] for name in submodules()} & containers
