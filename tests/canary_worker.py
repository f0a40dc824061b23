"""A fake worker that judges and times the canaries of `doctor` as a sound machine does."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from fakes import ENVIRONMENT, FakeWorker
from kernelwright.model import BenchCase, BenchReport, Candidate, Evaluation, Implementation, Status

WITHOUT_GPU = msgspec.structs.replace(ENVIRONMENT, device=None)


def known(candidate: Candidate, purpose: str) -> Evaluation:
    """What a judge must say of the canaries' kernel and of what was changed in it."""
    assert purpose == "verify"
    assert "laps = 2\n" in candidate.source
    if "torch.add" in candidate.source:
        return Evaluation(status=Status.REJECTED, reason="the host code calls aten.add")
    right = "2.0 * x" in candidate.source and "columns - 1" not in candidate.source
    return Evaluation(status=Status.PASSED if right else Status.WRONG, reason="" if right else "off by much")


@dataclass
class Clock(FakeWorker):
    """Times the canaries' kernel by its laps. resolution: the least difference that it tells from a tie."""

    resolution: float = 0.005

    def bench(
        self,
        candidates: dict[str, Candidate],
        cases: tuple[str, ...] = (),
        max_autotune: bool = False,
        compile: bool = True,
        against: str | None = None,
    ) -> BenchReport:
        assert cases == ("timed",)
        assert against is not None
        laps = {name: int(re.findall(r"laps = (\d+)", c.source)[0]) for name, c in candidates.items()}
        rows = []
        for name, count in laps.items():
            ratio = laps[against] / count
            verdict = "faster" if ratio > 1 + self.resolution else "slower" if ratio < 1 - self.resolution else "tie"
            rows.append(
                Implementation(
                    name=name, status=Status.PASSED, speedup=ratio, speedup_ci95=(ratio, ratio), verdict=verdict
                )
            )
        case = BenchCase(case="timed", held_out=False, bound_us=1.0, bound_by="bytes", implementations=tuple(rows))
        return BenchReport(problem="canary", environment=self.where, cases=(case,))
