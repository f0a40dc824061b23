"""A kernel whose calls are shorter where earlier calls left something is blamed, one that was disturbed once is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kernelwright.worker.bench.messages import AddPlan
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.stages.measure import SAVING, saved_between_calls
from kernelwright.worker.stages.subject import Subject

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)


@dataclass
class FakeProcesses:
    """A bench that tells the next of `calls_us`: (on memory as left, on newly initialised memory)."""

    calls_us: Iterator[tuple[float, float]]

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> float:
        return 0.0

    def ask_bench(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> tuple[list[float], list[float]]:
        if message.verb != "forgetting":
            return {}
        as_left_us, anew_us = next(self.calls_us)
        return [as_left_us, 0.5 * as_left_us, 1.5 * as_left_us], [anew_us, anew_us, 999.0]


@dataclass
class FakeSubject:
    processes: FakeProcesses
    plans: dict[str, Plan] = field(default_factory=lambda: {"timed": PLAN})
    measured_s: float = 0.0

    def replayable(self, plan: Plan) -> AddPlan:
        return AddPlan(name="plan", plan=plan, code=())


def blamed(*calls_us: tuple[float, float]) -> str:
    return saved_between_calls(cast(Subject, FakeSubject(FakeProcesses(iter(calls_us)))), "timed", "candidate")


@pytest.mark.parametrize("ratio", [0.8, 1.0, 0.98 * SAVING])
def test_a_call_that_takes_about_as_long_on_memory_made_anew_saves_nothing(ratio: float) -> None:
    assert blamed((50.0, 50.0 * ratio)) == ""


def test_a_call_that_takes_longer_on_memory_made_anew_is_blamed_with_both_times() -> None:
    reason = blamed((50.0, 90.0), (50.0, 91.0))
    assert "91 µs on newly initialised memory" in reason
    assert "50 µs on memory that earlier calls used" in reason


def test_a_kernel_is_not_blamed_for_what_shows_only_once() -> None:
    assert blamed((50.0, 90.0), (50.0, 51.0)) == ""


def test_a_very_short_call_is_not_blamed_for_the_fraction_of_a_microsecond_that_any_pays() -> None:
    assert blamed((1.138, 1.47), (1.138, 1.47)) == ""
    assert blamed((1.138, 1.9), (1.138, 1.9)) != ""
