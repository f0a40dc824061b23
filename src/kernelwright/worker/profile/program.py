"""The profiled program: makes one call of a plan, or of the framework's own implementation, between profiler marks.

`python -m kernelwright.worker.profile.program JOB.json`. It is a separate process, because Nsight Compute has to start
the process that it profiles. Shapes, dtypes and launches are those of the timed call. The input values come from a new
random seed, because the judge's seeds are secret. The program judges nothing and has no expected outputs.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from kernelwright import codec
from kernelwright.worker.bench.launching import allow_device_descriptors
from kernelwright.worker.bench.launching import compiled as compiled_code
from kernelwright.worker.plan.binding import bind_tensors, spec_of
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.library import allow_tf32
from kernelwright.worker.plan.replay import Replay
from kernelwright.worker.profile.job import Job
from kernelwright.worker.reference import load, values, weights
from kernelwright.worker.reference.baseline import compiled
from kernelwright.worker.reference.instance import Instance, mutated, with_copies

WARM_UP_CALLS = 3
"""Calls before the profiled one: they load machine code, choose the framework's algorithms, and run torch.compile."""

EVICTING_L2 = 4
"""Size of the L2 flush before the call over the size of the L2 cache: the bench measures with a cold cache too."""


def main(argv: list[str]) -> int:
    job = codec.decode(Path(argv[0]).read_text(encoding="utf-8"), Job)
    with torch.no_grad():
        place, call = replaying(job) if job.plan is not None else calling(job)
        for _ in range(WARM_UP_CALLS):
            place()
            call()
        place()
        settle(job)
        evict(job)
        with marked(job):
            call()
            settle(job)
    return 0


def drawn(job: Job) -> Instance:
    """Reference module and inputs of the case, with the distribution of draw 0, which is the timed one. Also sets the
    precision of float32 products to the problem's."""
    problem = load.load_problem(job.problem)
    allow_tf32(problem.precision == "tf32")
    case = next(case for case in job.cases or problem.cases if case.name == job.case)
    seed = secrets.randbits(62)
    instance = problem.instance(case, seed=seed, device=job.device)
    weights.redraw(instance.module, values.AS_GIVEN, seed)
    return instance


def replaying(job: Job) -> tuple[Callable[[], None], Callable[[], Any]]:
    """Two functions: one writes the case's inputs to an arena, the other calls the plan on it."""
    assert job.plan is not None
    allow_device_descriptors()
    layout = Layout(job.plan.buffers)
    arena = torch.zeros(layout.nbytes, dtype=torch.uint8, device=job.device)
    instance = drawn(job)
    laid = [spec_of(value) if isinstance(value, torch.Tensor) else value for value in instance.inputs]
    bound = list(bind_tensors(instance, laid, job.plan, arena, layout))

    def place() -> None:
        for _, target, source in bound:
            target.copy_(source)

    return place, Replay(job.plan, compiled_code(job.plan, job.code, Path(job.folder)), arena, layout).run


def calling(job: Job) -> tuple[Callable[[], None], Callable[[], Any]]:
    """Two functions: one restores the inputs that a call changes, the other calls the framework's implementation."""
    instance = drawn(job)
    called = with_copies(instance)
    module = compiled(instance.module, job.framework)

    def place() -> None:
        for name, tensor in mutated(called).items():
            tensor.copy_(mutated(instance)[name])

    args, named = called.called()
    return place, lambda: module(*args, **named)


def settle(job: Job) -> None:
    if job.device != "cpu":
        torch.cuda.synchronize()


def evict(job: Job) -> None:
    """L2 flush, so that the call starts with a cold cache. (Nsight Compute also flushes before each of its passes.)"""
    if job.device != "cpu":
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        torch.empty(EVICTING_L2 * l2_bytes, dtype=torch.uint8, device=job.device).zero_()
        torch.cuda.synchronize()


@contextlib.contextmanager
def marked(job: Job) -> Iterator[None]:
    """Tell the profiler to profile the calls inside this block."""
    if job.marks == "cuda":
        torch.cuda.profiler.start()
        yield
        torch.cuda.profiler.stop()
    elif job.marks == "torch":
        activity = torch.profiler.ProfilerActivity
        on = [activity.CPU] if job.device == "cpu" else [activity.CPU, activity.CUDA]
        with torch.profiler.profile(activities=on, acc_events=True) as profiler:
            yield
        profiler.export_chrome_trace(job.trace)
    else:
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
