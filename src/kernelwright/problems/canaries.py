"""Canaries: candidates whose verdict is known, for asking a machine whether its judge and its clock can be trusted.

All are variants of one kernel (`canary/`), made by replacing one line of it. Each states its verdict. If one gets
another verdict, no result of this machine counts.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

from kernelwright.model import Candidate, Status
from kernelwright.problems.gallery import PROBLEM_FILE
from kernelwright.problems.paths import ProblemPath, problem_at

BRIEF = "laps = 2"
"""For canaries that are only judged: the CPU interpreter takes a millisecond a lap and program."""


class Judged(NamedTuple):
    """what: in a few words. expected: how `verify` has to end."""

    what: str
    candidate: Candidate
    expected: Status


class Timed(NamedTuple):
    """expected: the verdict against the kernel as it is, on the case `TIMED_CASE`."""

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
    """For any machine: the CPU interpreter judges them too."""
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
    """The kernel that the timed ones are compared with."""
    return Candidate(source=_text("kernel.py"))


def timed_canaries() -> tuple[Timed, ...]:
    """For a GPU. The difference in work is the difference in `laps`."""
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
    return (resources.files("kernelwright.problems") / "canary" / f"{file}.txt").read_text(encoding="utf-8")
