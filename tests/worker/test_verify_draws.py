"""How many draws judge a candidate on the interpreter: it depends on how slow its kernels are, and on nothing else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from kernelwright.model import Case
from kernelwright.worker.limits import Limits
from kernelwright.worker.plan import AGAIN, Buffer, Plan
from kernelwright.worker.subject import Subject
from kernelwright.worker.verify import LEAST_DRAWS, MORE_DRAWS_S, verify

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
DEALT = [0, 1, 2, 3, 4, 5]


@dataclass
class FakeSite:
    """Whatever is replayed is right; judge and bench take as long as they are told."""

    filling_s: float
    replaying_s: float
    on_gpu: bool = False
    limits: Limits = field(default_factory=Limits)
    drawn: list[int] = field(default_factory=list)

    def ask_judge(self, message: dict[str, Any]) -> Any:
        if message["verb"] == "draws":
            return DEALT
        if message["verb"] == "again":
            return [AGAIN]
        if message["verb"] == "fill":
            self.drawn.append(message["draw"])
            time.sleep(self.filling_s)
        return {"case": message["case"], "status": "passed"}

    def ask_bench(self, message: dict[str, Any], limit_s: float = 0.0) -> Any:
        if message["verb"] == "run":
            time.sleep(self.replaying_s)
        return {}


@dataclass
class FakeSubject:
    site: FakeSite
    plans: dict[str, Plan] = field(default_factory=lambda: {"small": PLAN})
    unplanned: dict[str, Any] = field(default_factory=dict)
    kernels_sha: str = ""
    replayed_s: float = 0.0

    def runnable(self, plan: Plan) -> dict[str, Any]:
        return {}

    def untrue_on_interpreter(self, plan: Plan) -> list[str]:
        return []

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


def draws_of(site: FakeSite) -> set[int]:
    """Which of the dealt draws a case met."""
    verify(cast(Subject, FakeSubject(site)), Case(name="small", small=True))
    return {draw for draw in site.drawn if draw >= 0}


def test_a_judge_that_takes_long_to_make_a_draw_leaves_none_out() -> None:
    assert draws_of(FakeSite(filling_s=1.3 * MORE_DRAWS_S / len(DEALT), replaying_s=0.0)) == set(DEALT)


def test_a_kernel_that_is_slow_on_the_interpreter_meets_the_fewest_draws() -> None:
    assert len(draws_of(FakeSite(filling_s=0.0, replaying_s=MORE_DRAWS_S / 2))) == LEAST_DRAWS
