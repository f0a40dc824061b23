"""Confinement of the recorder: what a candidate's host code cannot reach.

Called in the forked child before it learns anything of a candidate. Each measure is tried and reported; what could not
be had is said, not assumed, and several cover the same ground because no machine has them all. API keys are not here
to be hidden: the fork server never had them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from kernelwright.worker.confine.descriptors import close_all_but
from kernelwright.worker.confine.landlock import only_these_files
from kernelwright.worker.confine.limits import few_processes, set_limits
from kernelwright.worker.confine.namespaces import no_network, own_ipc, own_mounts, own_processes, own_user
from kernelwright.worker.confine.privileges import no_capabilities, no_new_privileges
from kernelwright.worker.confine.root import own_root
from kernelwright.worker.confine.seccomp import only_these_calls

IN_FORCE = "in force"

Measure = Callable[[Path], None]

MEASURES: dict[str, Measure] = {
    "environment": lambda scratch: own_environment(scratch),
    "limits": lambda scratch: set_limits(),
    "user_namespace": lambda scratch: own_user(),
    "network_namespace": lambda scratch: no_network(),
    "ipc_namespace": lambda scratch: own_ipc(),
    "mount_namespace": lambda scratch: own_mounts(),
    "own_root": own_root,
    "process_namespace": lambda scratch: own_processes(),
    "process_limit": lambda scratch: few_processes(),
    "no_capabilities": lambda scratch: no_capabilities(),
    "no_new_privileges": lambda scratch: no_new_privileges(),
    "landlock": only_these_files,
    "system_calls": lambda scratch: only_these_calls(),
}
"""In this order: later ones take away what earlier ones need. docs/confinement.md says what each is for."""

NEEDS = {
    "own_root": "mount_namespace",
    "process_limit": "user_namespace",
}
"""A measure that would do harm, or cannot be, without another."""


def enter(scratch: Path, keep: int) -> dict[str, str]:
    """Confine this process for good; returns each measure with "in force" or why not.

    keep: the file descriptor of the channel; all others but the three standard ones are closed. Returns in a child
    where process namespaces are to be had (see `namespaces.own_processes`).
    """
    scratch.mkdir(parents=True, exist_ok=True)
    report = {"descriptors": attempt(lambda path: only_these_descriptors(keep), scratch)}
    for name, measure in MEASURES.items():
        needed = NEEDS.get(name)
        if needed is not None and report[needed] != IN_FORCE:
            report[name] = f"not available: it needs {needed}"
        else:
            report[name] = attempt(measure, scratch)
    return report


def attempt(measure: Measure, scratch: Path) -> str:
    try:
        measure(scratch)
    except OSError as error:
        return f"not available: {error}"
    return IN_FORCE


def own_environment(scratch: Path) -> None:
    """A private home, cache and working folder, and no GPU."""
    os.chdir(scratch)
    os.environ.clear()
    os.environ.update({
        "HOME": str(scratch), "TMPDIR": str(scratch), "USER": "candidate", "PATH": "/usr/bin:/bin",
        "TRITON_CACHE_DIR": str(scratch / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "CUDA_VISIBLE_DEVICES": "",
    })  # fmt: skip


def only_these_descriptors(keep: int) -> None:
    """Standard input is empty, output and error go to the log, `keep` is the channel."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    close_all_but({0, 1, 2, keep})
