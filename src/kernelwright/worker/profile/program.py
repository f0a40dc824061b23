"""The program that a profiler starts: one call of a plan, or of the framework's own, between the profiler's marks.

`python -m kernelwright.worker.profile.program JOB.json`. A separate process, because Nsight Compute has to start what
it looks into. Inputs, dtype and launches are those that are timed; the values come from a seed of this process alone,
because those of the judge are secret. It judges nothing and holds no expected output.
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
from kernelwright.model import Case
from kernelwright.worker.bench.launching import allow_device_descriptors
from kernelwright.worker.bench.launching import compiled as compiled_code
from kernelwright.worker.plan.binding import as_it_lies, bind_tensors
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.library import allow_tf32
from kernelwright.worker.plan.replay import Replay
from kernelwright.worker.profile.job import Job
from kernelwright.worker.reference import load, values, weights
from kernelwright.worker.reference.baseline import compiled
from kernelwright.worker.reference.instance import Instance, mutated, with_copies

WARM_UP_CALLS = 3
"""Loads machine code, lets the framework choose its algorithms and torch.compile compile."""

EVICTING_L2 = 4
"""Memory of this many times the L2 cache is written before the call, which is timed with a cold cache, too."""


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
    """Reference and inputs of the case as the problem gives them: the values of draw 0, which is timed. Float32 is
    multiplied from now on as the problem states."""
    problem = load.load_problem(job.problem)
    allow_tf32(problem.precision == "tf32")
    case = next(case for case in job.cases or problem.cases if case.name == job.case)
    seed = secrets.randbits(62)
    instance = problem.instance(case, seed=seed, device=job.device, dtype=own_dtype(case, job.dtype))
    weights.redraw(instance.module, values.AS_GIVEN, seed)
    return instance


def own_dtype(case: Case, dtype: str | None) -> str | None:
    """As `Draws` has it: small cases keep theirs."""
    return None if case.small else dtype


def replaying(job: Job) -> tuple[Callable[[], None], Callable[[], Any]]:
    """What puts the case's inputs into an arena, and one call of the plan on it."""
    assert job.plan is not None
    allow_device_descriptors()
    layout = Layout(job.plan.buffers)
    arena = torch.zeros(layout.nbytes, dtype=torch.uint8, device=job.device)
    instance = drawn(job)
    laid = [as_it_lies(value) if isinstance(value, torch.Tensor) else value for value in instance.inputs]
    bound = list(bind_tensors(instance, laid, job.plan, arena, layout))

    def place() -> None:
        for _, target, source in bound:
            target.copy_(source)

    return place, Replay(job.plan, compiled_code(job.plan, job.code, Path(job.folder)), arena, layout).run


def calling(job: Job) -> tuple[Callable[[], None], Callable[[], Any]]:
    """What gives the reference module its inputs, and one call of it as the framework runs it."""
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
    """Leave nothing of the inputs in the L2 cache. (Nsight Compute flushes by itself before each of its passes.)"""
    if job.device != "cpu":
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        torch.empty(EVICTING_L2 * l2_bytes, dtype=torch.uint8, device=job.device).zero_()
        torch.cuda.synchronize()


@contextlib.contextmanager
def marked(job: Job) -> Iterator[None]:
    """What is called in here is profiled."""
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
