"""The sandbox of every process that executes a candidate's text: recorder, compiler, interpreter.

A forked child enters it before it receives anything of a candidate. Each measure is tried, and the result is reported.
Several measures protect against the same thing, because no machine has all of them. API keys need no protection here:
the fork server never had them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kernelwright.worker.confine.landlock import only_these_files
from kernelwright.worker.confine.libc import close_all_but, no_capabilities, no_new_privileges
from kernelwright.worker.confine.limits import ALLOWANCES, RECORDER, Allowance, few_processes, set_limits
from kernelwright.worker.confine.namespaces import no_network, own_ipc, own_mounts, own_processes, own_user
from kernelwright.worker.confine.paths import PROGRAM_VARIABLES
from kernelwright.worker.confine.root import own_root
from kernelwright.worker.confine.seccomp import only_these_calls

__all__ = ["ALLOWANCES", "IN_FORCE", "MEASURES", "RECORDER", "Allowance", "attempt", "enter"]

IN_FORCE = "in force"

KEPT = ("TRITON_INTERPRET", "OPENBLAS_NUM_THREADS")
"""Environment variables of the fork server that are kept, because Triton and numpy read them."""

Measure = Callable[[Path, Allowance], None]

MEASURES: dict[str, Measure] = {
    "environment": lambda scratch, allowance: own_environment(scratch, allowance),
    "limits": lambda scratch, allowance: set_limits(allowance),
    "user_namespace": lambda scratch, allowance: own_user(),
    "network_namespace": lambda scratch, allowance: no_network(),
    "ipc_namespace": lambda scratch, allowance: own_ipc(),
    "mount_namespace": lambda scratch, allowance: own_mounts(),
    "own_root": lambda scratch, allowance: own_root(scratch),
    "process_namespace": lambda scratch, allowance: own_processes(),
    "process_limit": lambda scratch, allowance: few_processes(allowance),
    "no_capabilities": lambda scratch, allowance: no_capabilities(),
    "no_new_privileges": lambda scratch, allowance: no_new_privileges(),
    "landlock": lambda scratch, allowance: only_these_files(scratch, allowance.programs),
    "system_calls": lambda scratch, allowance: only_these_calls(allowance.programs),
}
"""Measures in the order of their use: later ones forbid operations that earlier ones need. See docs/confinement.md."""

NEEDS = {"own_root": "mount_namespace", "process_limit": "user_namespace"}
"""Measures that are harmful or impossible without another measure, by name."""


def enter(scratch: Path, keep: tuple[int, ...], allowance: Allowance) -> dict[str, str]:
    """Put this process into the sandbox for good; returns for each measure "in force" or why it is not.

    keep: file descriptors that stay open (channel, shared memory); all others except the three standard ones are
    closed. If PID namespaces are available, this returns in a new child process (see `namespaces.own_processes`).
    """
    scratch.mkdir(parents=True, exist_ok=True)
    report = {"descriptors": attempt(lambda path, allowance: only_these_descriptors(keep), scratch, allowance)}
    for name, measure in MEASURES.items():
        needed = NEEDS.get(name)
        if needed is not None and report[needed] != IN_FORCE:
            report[name] = f"not available: it needs {needed}"
        else:
            report[name] = attempt(measure, scratch, allowance)
    return report


def attempt(measure: Measure, scratch: Path, allowance: Allowance) -> str:
    try:
        measure(scratch, allowance)
    except OSError as error:
        return f"not available: {error}"
    return IN_FORCE


def own_environment(scratch: Path, allowance: Allowance) -> None:
    """Replace the environment: private home, cache and working folders, and no visible GPU."""
    os.chdir(scratch)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    if allowance.programs:
        kept |= {name: os.environ[name] for name in PROGRAM_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | {
        "HOME": str(scratch), "TMPDIR": str(scratch), "USER": "candidate", "PATH": "/usr/bin:/bin",
        "TRITON_CACHE_DIR": str(scratch / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "CUDA_VISIBLE_DEVICES": "",
    })  # fmt: skip


def only_these_descriptors(keep: tuple[int, ...]) -> None:
    """Close all descriptors except `keep` and the standard ones. Standard input becomes empty."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    close_all_but({0, 1, 2, *keep})
