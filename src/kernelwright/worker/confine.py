"""Confinement of the recorder: what a candidate's host code cannot reach.

Called in the forked child before it learns anything of a candidate. Each measure is tried and reported; what could
not be had is said, not assumed. API keys are not here to be hidden: the fork server never had them.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

GIB = 1 << 30

LIMITS = {
    "cpu_s": (resource.RLIMIT_CPU, 60),
    "memory_bytes": (resource.RLIMIT_AS, 64 * GIB),  # address space: a CUDA build of torch maps over 20 GiB
    "file_bytes": (resource.RLIMIT_FSIZE, 64 << 20),
    "open_files": (resource.RLIMIT_NOFILE, 256),
    "core_bytes": (resource.RLIMIT_CORE, 0),
}

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
PR_SET_NO_NEW_PRIVS = 38  # linux/prctl.h


def enter(scratch: Path) -> dict[str, str]:
    """Confine this process for good; returns each measure with "in force" or why not."""
    scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(scratch)
    os.environ.clear()
    os.environ.update({"HOME": str(scratch), "TMPDIR": str(scratch), "TRITON_CACHE_DIR": str(scratch / "triton"),
                       "CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"})  # fmt: skip
    measures: dict[str, Callable[[], None]] = {
        "environment": lambda: None,
        "no_network": _no_network,
        "no_new_privileges": _no_new_privileges,
        "limits": _limits,
    }
    return {name: _try(measure) for name, measure in measures.items()}


def _try(measure: Callable[[], None]) -> str:
    try:
        measure()
    except OSError as error:
        return f"not available: {error}"
    return "in force"


def _no_network() -> None:
    """A network namespace of its own, empty but for a loopback that is down."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _libc("unshare", CLONE_NEWUSER | CLONE_NEWNET)
    except OSError:
        _libc("unshare", CLONE_NEWNET)  # as root, or where the kernel has no user namespaces
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text)


def _no_new_privileges() -> None:
    _libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _limits() -> None:
    for number, value in LIMITS.values():
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))


def _libc(function: str, *arguments: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
