"""Builds the C kernel into the package where there is a C compiler; without one the package is pure Python.

ELMO_TORCH_KERNEL=off leaves it out, ELMO_TORCH_KERNEL=on makes a failed build an error.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ["-O3", "-shared", "-fPIC", "-fvisibility=hidden"]
SOURCE = "src/elmo_torch/kernels/csrc/lstmp.c"
KERNEL = "elmo_torch/kernels/lstmp.kernel"


class KernelBuildHook(BuildHookInterface[Any]):
    """Compiles one file; the wheel is then for this platform, but for every Python 3."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together; an editable install has its kernel in the tree."""
        in_tree = Path(self.root, "src", KERNEL)
        if version == "editable":
            in_tree.unlink(missing_ok=True)
        wanted = os.environ.get("ELMO_TORCH_KERNEL", "auto")
        if wanted == "off" or sys.platform == "win32":
            return
        compiled = Path(tempfile.mkdtemp(), in_tree.name)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, *FLAGS, str(Path(self.root, SOURCE)), "-o", str(compiled)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or str(error)
            if wanted == "on":
                raise RuntimeError(f"the kernel was not built: {reason}") from error
            self.app.display_warning(f"without the compiled kernel, which is slower: {reason}")
            return
        if version == "editable":
            shutil.move(compiled, in_tree)
            return
        build_data["force_include"][str(compiled)] = KERNEL
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
