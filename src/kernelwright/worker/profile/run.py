"""Running of the profiled program, alone or under a tool such as ncu, with a deadline."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from kernelwright import codec
from kernelwright.python import python
from kernelwright.worker.processes.children import environment_of
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.protocol import CannotProfile


def run_program(processes: Processes, job: Job, under: Sequence[str] = ()) -> str:
    """Run the profiled program; returns its output. under: command line of the tool that starts it. Raises
    `CannotProfile` if it fails or takes too long."""
    file = processes.scratch / f"profile-{time.monotonic_ns()}.json"
    file.write_bytes(codec.encode(job))
    command = [*under, *python("-m", "kernelwright.worker.profile.program", str(file))]
    try:
        printed = finished(command, environment(processes), processes.scratch, processes.limits.profile_s)
    finally:
        file.unlink()
    return printed


def environment(processes: Processes) -> dict[str, str]:
    """Environment variables of the fork server's children, and those that profilers need."""
    return environment_of(processes.scratch) | {
        "TMPDIR": str(processes.scratch),  # ncu's lock file: in a shared folder, another user's file would block ours
        "LC_ALL": "C",  # ncu formats numbers by the locale
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # compile in the profiled process, not in a process pool
    }


def finished(command: Sequence[str], environment: dict[str, str], folder: Path, limit_s: float) -> str:
    """Run a command; returns its output. Raises `CannotProfile` if its exit status is not 0 or it exceeds limit_s."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env=environment, cwd=folder, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            raise CannotProfile(f"the profiled program took over {limit_s:g} s") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # processes that it started, too
    if process.returncode != 0:
        raise CannotProfile(reason(printed, process.returncode))
    return printed


def reason(printed: str, exit_status: int) -> str:
    """Why a command failed, from its output: the last line, and Nsight Compute's errors."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    own = [line for line in lines if not line.startswith("==")]
    said = "; ".join([*own[-1:], *errors]) or "no output"
    if "ERR_NVGPUCTRPERM" in said:
        said = (
            "this user may not read the GPU's counters (ERR_NVGPUCTRPERM: the driver reserves them to administrators)"
        )
    return f"{said} (exit status {exit_status})"[:600]
