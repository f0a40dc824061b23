"""The tools are tried in their order, and each that could not says why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelwright.model import LaunchProfile
from kernelwright.worker.plan.plan import Launch, Plan
from kernelwright.worker.profile.job import Job
from kernelwright.worker.profile.ncu import MOST_LAUNCHES, NsightCompute
from kernelwright.worker.profile.operation import PROFILERS, by_first
from kernelwright.worker.profile.protocol import CannotProfile

JOB = Job(problem="", case="", device="cpu", marks="none")
SEEN = (LaunchProfile(kernel="k"),)


@dataclass
class Site:
    """Something that has a bench to drop."""

    dropped: list[str] = field(default_factory=list)

    def drop(self, role: str) -> None:
        self.dropped.append(role)


@dataclass
class Fake:
    """Fails with the first of `reasons`, then the next, and then sees a launch."""

    name: str
    reasons: list[str] = field(default_factory=list)

    def profile(self, site: Any, job: Job, full: bool) -> tuple[LaunchProfile, ...]:
        if self.reasons:
            raise CannotProfile(self.reasons.pop(0))
        return SEEN


def first(*profilers: Fake) -> tuple[Site, tuple[str | None, tuple[LaunchProfile, ...], dict[str, str]]]:
    site: Any = Site()
    return site, by_first(site, JOB, False, profilers)


def test_the_first_that_can_is_used() -> None:
    _, found = first(Fake("one", ["no rights"]), Fake("two"), Fake("three"))
    assert found == ("two", SEEN, {"one": "no rights"})


def test_where_none_can_each_has_its_reason() -> None:
    _, found = first(Fake("one", ["no rights"]), Fake("two", ["no library"]))
    assert found == (None, (), {"one": "no rights", "two": "no library"})


def test_where_memory_runs_out_the_bench_makes_room_once() -> None:
    site, found = first(Fake("one", ["torch.OutOfMemoryError: CUDA out of memory (exit status 1)"]))
    assert found == ("one", SEEN, {})
    assert site.dropped == ["bench"]
    site, found = first(Fake("one", ["OutOfMemoryError", "OutOfMemoryError"]), Fake("two"))
    assert found == ("two", SEEN, {"one": "OutOfMemoryError"})


def test_counters_go_before_durations() -> None:
    assert [profiler.name for profiler in PROFILERS] == ["ncu", "torch.profiler"]


def test_a_call_of_hundreds_of_launches_is_not_for_nsight_compute() -> None:
    steps = tuple(Launch(kernel="k", grid=(1,), arguments={}) for _ in range(MOST_LAUNCHES + 1))
    job = Job(problem="", case="", device="cpu", marks="none",
              plan=Plan(buffers=(), steps=steps, outputs=(), single=True))  # fmt: skip
    site: Any = Site()
    _, _, not_used = by_first(site, job, False, [NsightCompute(find=lambda: "/ncu")])
    assert not_used == {"ncu": "the call has 101 launches, and more than 100 take too long"}
