"""What README shows is run: its commands, its Python, and the table it prints.

The first two commands, which make an environment, are run by .ci/run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(.*?)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def run(command: str, folder: Path) -> str:
    """Run a shell command with this environment's ``elmo`` on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("commands", blocks("sh")[2:])
def test_commands_run(commands: str, tmp_path: Path) -> None:
    for command in commands.splitlines():
        # `head` closes the pipe early, which is what its example is about
        run(command.replace("| head -c 60", "> shown.txt"), tmp_path)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs_and_its_comments_are_the_output(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shapes = re.findall(r"# (\([\d, ]+\))", code)
    assert shapes
    assert done.stdout.splitlines() == shapes


def test_the_table_shown_is_the_table_printed(tmp_path: Path) -> None:
    first = blocks("sh")[0].strip()
    printed = run(first[first.index("elmo compare") :], tmp_path).rstrip()
    shown = blocks("text")[0].rstrip()
    number = r"\d\.\d\d\d"
    assert re.sub(number, "N", printed) == re.sub(number, "N", shown)
    for left, right in zip(re.findall(number, printed), re.findall(number, shown), strict=True):
        # three decimals shown; another processor may round the last one the other way
        assert float(left) == pytest.approx(float(right), abs=0.0011)
