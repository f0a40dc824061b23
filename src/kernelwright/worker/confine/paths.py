"""Folders that a confined process may read: Python, what is installed beside torch, system libraries. Nothing else.

Never a whole entry of `sys.path`, since one may be a project folder with problems and runs in it. Found
from where the modules in use came from.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

INSTALLED = ("torch", "triton", "numpy", "msgspec", "sympy", "typing_extensions")
"""What a confined process imports from is where these lie (one site-packages mostly, several with PYTHONPATH)."""

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache",
          "/proc/cpuinfo", "/sys/devices/system/cpu")  # fmt: skip
"""Shared libraries that torch and Python load late, and what torch asks about the processor."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
"""Read and written; no GPU, terminal or disk among them."""


PROGRAM_VARIABLES = ("TRITON_PTXAS_PATH",)
"""How a user names a program of the toolchain that is not Triton's own."""

LOADER = Path("/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else "/lib/ld-linux-aarch64.so.1")
"""What the kernel starts to run a program that is linked against shared libraries."""


@functools.cache
def programs() -> tuple[Path, ...]:
    """The programs that a compiler may start: Triton's own (ptxas, cuobjdump), one that the user named, the loader."""
    origin = getattr(sys.modules.get("triton"), "__file__", None)
    own = sorted((Path(origin).parent / "backends/nvidia/bin").iterdir()) if origin is not None else []
    named = [Path(os.environ[name]) for name in PROGRAM_VARIABLES if name in os.environ]
    return tuple(path for path in [*own, *named, LOADER] if path.is_file())


@functools.cache
def readable() -> tuple[Path, ...]:
    """Existing paths as they are named, those inside of another left out."""
    wanted = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")]
    wanted += [Path(sys.base_prefix) / "lib", *map(Path, SYSTEM), Path(__file__).parents[2]]
    for name in INSTALLED:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is not None:
            file = Path(origin)
            wanted.append(file.parent.parent if file.stem == "__init__" else file.parent)
    wanted += programs()
    return outermost(path for path in wanted if path.exists())


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Paths without those that lie inside of another."""
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if not any(path.is_relative_to(kept) for kept in found):
            found.append(path)
    return tuple(found)
