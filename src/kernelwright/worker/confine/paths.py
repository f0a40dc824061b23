"""Paths that a sandboxed process may read: Python, the folders of installed packages, and system libraries.

The folders of packages are found from imported modules. `sys.path` is not used: an entry may be a project folder with
problems and runs.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

INSTALLED = ("torch", "triton", "numpy", "msgspec", "sympy", "typing_extensions")
"""Packages whose parent folders may be read: usually one site-packages, several with PYTHONPATH."""

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache",
          "/proc/cpuinfo", "/sys/devices/system/cpu")  # fmt: skip
"""Shared libraries that torch and Python load late, and files in which torch looks up the processor."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
"""Devices that may be read and written. There is no GPU, terminal or disk among them."""


PROGRAM_VARIABLES = ("TRITON_PTXAS_PATH",)
"""Environment variables with which a user replaces a program of Triton's toolchain."""

LOADER = Path("/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else "/lib/ld-linux-aarch64.so.1")
"""The dynamic loader, which Linux starts to run a program that is linked against shared libraries."""


@functools.cache
def programs() -> tuple[Path, ...]:
    """Programs that a compiler may start: Triton's own (ptxas, cuobjdump), those in PROGRAM_VARIABLES, the loader."""
    origin = getattr(sys.modules.get("triton"), "__file__", None)
    own = sorted((Path(origin).parent / "backends/nvidia/bin").iterdir()) if origin is not None else []
    named = [Path(os.environ[name]) for name in PROGRAM_VARIABLES if name in os.environ]
    return tuple(path for path in [*own, *named, LOADER] if path.is_file())


@functools.cache
def readable() -> tuple[Path, ...]:
    """All readable paths that exist, without those inside of another; symbolic links are not resolved."""
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
