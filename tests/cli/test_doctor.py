"""`doctor`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import msgspec

from command_line import run
from fakes import ENVIRONMENT, MACHINE, FakeWorker
from kernelwright.model import (
    Attempt,
    BenchCase,
    BenchReport,
    Candidate,
    Evaluation,
    Implementation,
    Status,
)

WITHOUT_GPU = msgspec.structs.replace(ENVIRONMENT, device=None)


def _known(candidate: Candidate, purpose: str) -> Evaluation:
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


def test_canaries_that_get_their_known_verdicts_end_well_on_a_gpu() -> None:
    result = run("doctor", "--json", worker=Clock(answer=_known))
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    got = {canary["what"]: canary["got"] for canary in document["canaries"]}
    assert got["a right kernel"] == "passed"
    assert got["a kernel against itself"] == "tie"
    assert got["a kernel with 1 % less work"] == "faster"
    assert got["a kernel with 10 % more work"] == "slower"
    assert all(canary["good"] for canary in document["canaries"])
    assert len(document["canaries"]) == 7


def test_a_clock_too_coarse_for_one_percent_makes_the_answer_a_no() -> None:
    result = run("doctor", worker=Clock(answer=_known, resolution=0.05))
    assert result.exit_code == 1
    assert "tie, MUST BE faster (1.0101 times as fast" in result.stdout
    assert "Canaries with another verdict than the known one: 1. Trust no result of this machine." in result.stdout


def test_a_judge_that_lets_a_wrong_kernel_pass_makes_the_answer_a_no() -> None:
    def lenient(candidate: Candidate, purpose: str) -> Evaluation:
        del candidate, purpose
        return Evaluation(status=Status.PASSED)

    result = run("doctor", worker=FakeWorker(answer=lenient, where=WITHOUT_GPU))
    assert result.exit_code == 1
    assert result.stdout.count("passed, MUST BE wrong") == 2
    assert result.stdout.count("passed, MUST BE rejected") == 1


def test_a_missing_gpu_is_said_and_is_no_failure() -> None:
    result = run("doctor", "--json", worker=FakeWorker(answer=_known, where=WITHOUT_GPU))
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["canaries"]) == 4
    assert "Nothing was timed: no GPU." in result.stderr


def test_what_confinement_lets_through_is_named() -> None:
    hole = Attempt(what="open a port", refused=False, how="nothing stopped it")
    found = msgspec.structs.replace(MACHINE, attempts=(*MACHINE.attempts, hole))
    result = run("doctor", worker=FakeWorker(answer=_known, where=WITHOUT_GPU, found=found))
    assert result.exit_code == 0
    assert "refused: PermissionError" in result.stdout
    assert "POSSIBLE: nothing stopped it" in result.stdout
    assert "landlock  not available: a fake kernel" in result.stdout
    assert "Code of candidates could here: open a port (recorder)." in result.stdout


def test_keys_are_said_to_be_set_or_not_and_never_shown() -> None:
    worker = FakeWorker(answer=_known, where=WITHOUT_GPU)
    result = run("doctor", "--json", worker=worker, OPENAI_API_KEY="secret", ANTHROPIC_API_KEY="")
    document = json.loads(result.stdout)
    assert document["providers"]["OPENAI_API_KEY"] is True
    assert document["providers"]["ANTHROPIC_API_KEY"] is False
    assert document["machine"]["measures"]["limits"] == "in force"
    assert "secret" not in result.output
