"""Command line and environment of every Python process that kernelwright starts, and how one ended.

No file of the current folder is imported there: `-P` keeps the folder off the module path, and so does PYTHONSAFEPATH
in processes that such a process starts. An empty entry in a list of folders, which means the current one, is removed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

LISTS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
"""Variables that list folders; in each an empty entry is the current folder."""

NAMED = (
    *LISTS, "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "CC", "CXX",
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH", "TRITON_PTXAS_PATH",
)  # fmt: skip
"""Variables that every process gets. None of them is a key."""

OWN = ("HOME", "XDG_CACHE_HOME", "KERNELWRIGHT_COMPILE_CACHE")
"""Further variables of a worker: where its caches are. It does not pass them on to its children."""


KEY_NAMES = ("KEY", "TOKEN")
"""Ends of the names of variables with a provider's key."""

PR_SET_DUMPABLE = 4  # linux/prctl.h


def python(*words: str, program: str | None = None) -> list[str]:
    """The command line of a Python process. program: the path of another Python; None for this one."""
    return [program or sys.executable, "-P", *words]


def named_variables(*more: str) -> dict[str, str]:
    """The environment of a process that executes a candidate's text, or starts one that does: `NAMED`, and `more`."""
    return safe({name: os.environ[name] for name in (*NAMED, *more) if name in os.environ})


def without_keys() -> dict[str, str]:
    """The environment of a program of the user's, such as ssh or srun, which may copy it to another host: everything
    but the keys of providers, whose names end in KEY or TOKEN. A Ray cluster's token stays."""
    kept = {name: text for name, text in os.environ.items() if not name.upper().endswith(KEY_NAMES)}
    return safe(kept | {name: text for name, text in os.environ.items() if name.startswith("RAY_")})


def hide_keys() -> None:
    """Where this process has a key, refuse other processes of this user its environment and memory: Linux then lets
    only a process that may trace every other one read them. The process also leaves no core dump."""
    if any(name.upper().endswith(KEY_NAMES) for name in os.environ):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def safe(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables with PYTHONSAFEPATH, and without empty entries in `LISTS`."""
    lists = {
        name: os.pathsep.join(filter(None, variables[name].split(os.pathsep))) for name in LISTS if name in variables
    }
    return {**variables, **lists, "PYTHONSAFEPATH": "1"}


def how_ended(status: int) -> str:
    """A predicate, such as "was killed by SIGSEGV". status: as in `subprocess`, negative for a signal."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal has no name
        return f"was killed by signal {-status}"


def run_module(folder: Path, module: str, words: list[str], notify: Callable[[str], None]) -> int:
    """The exit status of `python -m MODULE WORDS`, with `folder` on the module path. Each line that it writes goes to
    `notify`."""
    variables = without_keys()
    path = os.pathsep.join([str(folder.resolve()), *filter(None, [variables.get("PYTHONPATH")])])
    process = subprocess.Popen(
        python("-m", module, *words),
        env={**variables, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    with process:
        try:
            for line in process.stdout:
                notify(line.rstrip("\n"))
        except BaseException:  # an interrupt, too: the package's process must end
            process.kill()
            raise
    return process.returncode
