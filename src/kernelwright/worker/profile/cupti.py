"""Profiler that uses CUPTI through torch's profiler: duration, grid, registers and shared memory of each kernel.

It reads no hardware counters (DRAM bytes, hit rates, instructions). Unlike ncu it needs no special rights.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kernelwright.model import Counter, LaunchProfile
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.protocol import CannotProfile
from kernelwright.worker.profile.run import run_program

TOOL = "torch.profiler"

ARGUMENTS = {
    "registers per thread": ("registers", "registers/thread", 1.0),
    "shared memory": ("shared_memory", "bytes/block", 1.0),
    "est. achieved occupancy %": ("occupancy_estimate", "fraction", 0.01),
    "blocks per SM": ("blocks_per_multiprocessor", "blocks", 1.0),
    "bytes": ("moved", "bytes", 1.0),
    "memory bandwidth (GB/s)": ("bandwidth", "bytes/s", 1e9),
}
"""torch's name of a value: our name, our unit, and the factor to convert torch's unit to ours."""


class TorchProfiler:
    name = TOOL

    def profile(self, processes: Processes, job: Job, full: bool) -> tuple[LaunchProfile, ...]:
        trace = processes.scratch / f"trace-{time.monotonic_ns()}.json"
        run_program(processes, msgspec.structs.replace(job, marks="torch", trace=str(trace)))
        launches = tuple(of_trace(json.loads(trace.read_text())))
        trace.unlink()
        if not launches:
            raise CannotProfile("torch's profiler saw no kernel: CUPTI is not available here")
        return launches


def of_trace(trace: Mapping[str, Any]) -> Iterator[LaunchProfile]:
    """The device's kernels, copies and fills in a Chrome trace from torch's profiler, by time."""
    events = [event for event in trace["traceEvents"] if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    for event in sorted(events, key=lambda event: event["ts"]):
        arguments = event.get("args", {})
        counters = [Counter(name="duration", value=float(event["dur"]), unit="us", tool=TOOL, metric="dur")]
        for metric, (name, unit, scale) in ARGUMENTS.items():
            value = arguments.get(metric)
            if isinstance(value, int | float):
                counters.append(Counter(name=name, value=value * scale, unit=unit, tool=TOOL, metric=metric))
        yield LaunchProfile(
            kernel=event["name"],
            grid=tuple(arguments.get("grid", ())),
            block=tuple(arguments.get("block", ())),
            counters=tuple(counters),
        )
