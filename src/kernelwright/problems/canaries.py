"""Canaries: candidates with a known verdict, which test whether the judge and the timing of a machine are trustworthy.

All are variants of one kernel (`canary/`) with a replaced line. If one gets another verdict than the stated one, no
result of this machine can be trusted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.model import Candidate, Status
from kernelwright.problems.paths import PROBLEM_FILE, ProblemPath, problem_at
from kernelwright.templates import shipped

BRIEF = "laps = 2"
"""Number of laps of canaries that are not timed: the CPU interpreter takes a millisecond per lap and program."""


class Judged(NamedTuple):
    """A canary for `verify`. what: a short description. expected: the status that `verify` must give."""

    what: str
    candidate: Candidate
    expected: Status


class Timed(NamedTuple):
    """A canary for `bench`. expected: its verdict against the unchanged kernel on the case `TIMED_CASE`."""

    what: str
    candidate: Candidate
    expected: Literal["faster", "tie", "slower"]


TIMED_CASE = "timed"


def canary_problem(folder: Path) -> ProblemPath:
    """Write the canaries' problem into `folder`."""
    place = folder / PROBLEM_FILE
    place.write_text(_text("problem.py"), encoding="utf-8")
    return problem_at(place)


def judged_canaries() -> tuple[Judged, ...]:
    """Canaries for any machine, also for the CPU interpreter."""
    tail = ("inside = offsets < columns", "inside = offsets < columns - 1")
    value = ("2.0 * x", "2.001 * x")
    framework = ("out = torch.empty_like(x)", "out = torch.add(x, x)")
    return (
        Judged("a right kernel", _variant(), Status.PASSED),
        Judged("a kernel that leaves out the last column", _variant(tail), Status.WRONG),
        Judged("a kernel that is off by half a thousandth", _variant(value), Status.WRONG),
        Judged("a kernel beside which the framework computes the answer", _variant(framework), Status.REJECTED),
    )


def reference_canary() -> Candidate:
    """The kernel that timed canaries are compared with."""
    return Candidate(source=_text("kernel.py"))


def timed_canaries() -> tuple[Timed, ...]:
    """Canaries for a GPU. They differ in work by the number of `laps`."""
    return (
        Timed("a kernel against itself", Candidate(source=_text("kernel.py") + "\n# the same again\n"), "tie"),
        Timed("a kernel with 1 % less work", _variant(laps="laps = 198"), "faster"),
        Timed("a kernel with 10 % more work", _variant(laps="laps = 220"), "slower"),
    )


def _variant(*replaced: tuple[str, str], laps: str = BRIEF) -> Candidate:
    source = _text("kernel.py")
    for old, new in (("laps = 200", laps), *replaced):
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in the canaries' kernel, once was expected")
        source = source.replace(old, new)
    return Candidate(source=source)


def _text(file: str) -> str:
    return shipped("kernelwright.problems", f"canary/{file}.txt")
