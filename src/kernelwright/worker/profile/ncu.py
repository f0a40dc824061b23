"""Profiler that uses Nsight Compute (ncu): hardware counters of the GPU, if the driver lets this user read them.

ncu starts the profiled program and replays each kernel in a few passes until every counter is read. Clocks are not
locked (`--clock-control none`): measured times have the same clocks, and other work is not slowed. Caches are flushed
before every pass (`--cache-control all`), because the bench measures with a cold cache. So in a call with several
launches, data that one launch leaves in L2 for the next is counted as read from DRAM.
"""

from __future__ import annotations

import glob
import os
import shutil
import time
from collections.abc import Callable, Sequence

import msgspec

from kernelwright.model import LaunchProfile
from kernelwright.python import python
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile import ncu_csv
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.protocol import CannotProfile
from kernelwright.worker.profile.readings import CHOSEN
from kernelwright.worker.profile.run import environment, finished, run_program

PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")


MOST_LAUNCHES = 100
"""Maximum number of launches in a call. Each is replayed about fifteen times, which takes half a second, and more if it
writes gigabytes."""


def found() -> str | None:
    """The path of ncu: on PATH, or where NVIDIA's installers put it; None if there is none."""
    places = [shutil.which("ncu"), *(path for pattern in PLACES for path in sorted(glob.glob(pattern), reverse=True))]
    return next((path for path in places if path is not None and os.access(path, os.X_OK)), None)


class NsightCompute:
    name = ncu_csv.TOOL

    def __init__(self, find: Callable[[], str | None] = found) -> None:
        self.find = find

    def profile(self, processes: Processes, job: Job, full: bool) -> tuple[LaunchProfile, ...]:
        ncu = self.find()
        if ncu is None:
            raise CannotProfile("ncu is not on PATH, nor where NVIDIA's installers put it")
        launches_in_plan = len(job.plan.launches) if job.plan is not None else 0
        if launches_in_plan > MOST_LAUNCHES:
            raise CannotProfile(
                f"the call has {launches_in_plan} launches, and more than {MOST_LAUNCHES} take too long"
            )
        job = msgspec.structs.replace(job, marks="cuda")
        metrics = tuple(CHOSEN.values())
        try:
            launches = read(processes, job, ncu, metrics, full)
        except CannotProfile as error:
            known = tuple(metric for metric in metrics if metric.partition(".")[0] not in str(error))
            if known == metrics:
                raise
            launches = read(
                processes, job, ncu, known, full
            )  # without the counters that the error names: not every GPU has all of them
        if not any(launch.counters for launch in launches):
            raise CannotProfile("ncu read no counter")
        return launches


def read(processes: Processes, job: Job, ncu: str, metrics: Sequence[str], full: bool) -> tuple[LaunchProfile, ...]:
    """The launches that one run of ncu saw; raises `CannotProfile`."""
    log = processes.scratch / f"ncu-{time.monotonic_ns()}.csv"
    try:
        run_program(processes, job, [ncu, *options(metrics, full), "--log-file", str(log)])
    except CannotProfile as error:
        said = (
            [line for line in log.read_text(errors="replace").splitlines() if "ERROR" in line] if log.exists() else []
        )
        raise CannotProfile(" ".join([str(error), *said])[:2000]) from error
    try:
        text = log.read_text(errors="replace")
        return ncu_csv.launches(text, {metric: name for name, metric in CHOSEN.items()}, full)
    except (OSError, ValueError) as error:
        raise CannotProfile(str(error)) from error


TRIAL = "import torch; torch.ones(1 << 20, device='cuda').add_(1); torch.cuda.synchronize()"


def tried(processes: Processes, ncu: str) -> float:
    """Test of ncu: the DRAM bytes of a small addition, read like a profile. Raises `CannotProfile` if that fails."""
    log = processes.scratch / f"ncu-{time.monotonic_ns()}.csv"
    metric = CHOSEN["dram_read"]
    command = [ncu, *options([metric], full=False), "--log-file", str(log), *python("-c", TRIAL)]
    command[command.index("--profile-from-start") + 1] = "on"
    with processes.lease:
        finished(command, environment(processes), processes.scratch, processes.limits.profile_s)
    try:
        *_, last = ncu_csv.launches(log.read_text(errors="replace"), {metric: "dram_read"})
    except (OSError, ValueError) as error:
        raise CannotProfile(str(error)) from error
    read = last.value("dram_read")
    if read is None:
        raise CannotProfile("ncu ran, but read no DRAM bytes")
    return read


def options(metrics: Sequence[str], full: bool) -> list[str]:
    """Command line options of ncu. full: all of ncu's sections in addition to these metrics, in several times as many
    passes."""
    sections = ["--set", "full"] if full else []
    return [
        *sections, "--metrics", ",".join(metrics),
        "--target-processes", "application-only", "--profile-from-start", "off", "--replay-mode", "kernel",
        "--clock-control", "none", "--cache-control", "all",
        "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "function",
    ]  # fmt: skip
