"""What is said of a problem that does not qualify, of what the judge found."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec.structs import replace

from fakes import PROBLEM
from kernelwright.model import CaseQualification, ProblemInfo, QualificationReport, TensorSpec, TrivialAnswer
from kernelwright.worker.judge.messages import Qualify
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session
from kernelwright.worker.stages.qualify import qualify

NAMES = ("zeros", "a constant", "the previous output", "input x as it is")


@dataclass
class FakeProcesses:
    """Whose judge finds that the answers of these names would pass on every case. asked: of which cases."""

    names: tuple[str, ...]
    unused: tuple[str, ...] = ()
    lease: Any = field(default_factory=contextlib.nullcontext)
    asked: list[str] = field(default_factory=list)

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        assert isinstance(message, Qualify)
        self.asked.append(message.case)
        answers = tuple(
            TrivialAnswer(
                name=name, output=0, accepted=True, max_rel_error=0.0, rms_rel_error=0.0, allowed_rel_error=0.0,
                allowed_rms_error=0.0, margin=0.0, allclose_from=0.0,
            )
            for name in self.names
        )  # fmt: skip
        return CaseQualification(case=message.case, answers=answers, unused=self.unused)


class LoadedSession(Session):
    def __init__(self, processes: Processes, info: ProblemInfo) -> None:
        super().__init__(processes)
        self._info = info


def reason(shape: tuple[int, ...], *names: str, unused: tuple[str, ...] = ()) -> str:
    """Of the problem with one case, whose output has this shape."""
    output = TensorSpec(shape=shape, dtype="float32", stride=(4, 1))
    case = replace(next(one for one in PROBLEM.cases if one.case.timed), outputs=(output,))
    processes = FakeProcesses(names, unused)
    session = LoadedSession(cast(Processes, processes), replace(PROBLEM, cases=(case,)))
    report = qualify(session, every=True)
    assert report.qualifies is (not names)
    assert report.reason == session.report.reason
    assert qualify(session, every=True) == report
    assert processes.asked == [case.case.name], "the judge is asked once"
    return report.reason.replace(f"on case {case.case.name} ", "")


def test_the_first_answers_that_would_pass_are_named_and_the_others_counted() -> None:
    assert reason((8, 4)) == ""
    assert (
        reason((8, 4), "zeros", "without x") == "zeros would pass (exactly right); a kernel that ignores x would pass"
    )
    said = "a kernel that ignores x would pass: in float64, too, no output depends on it"
    assert reason((8, 4), "without x", unused=("x",)) == said
    assert reason((8, 4), *NAMES).endswith("the previous output would pass (exactly right); and 1 more")


def test_a_derived_case_that_accepts_an_answer_is_left_out_and_named_where_another_accepts_none() -> None:
    case = next(one for one in PROBLEM.cases if one.case.timed)
    small = [replace(case, case=replace(case.case, name=name, small=True, derived=True)) for name in ("one", "two")]

    def report(*weak: str) -> QualificationReport:
        class Processes(FakeProcesses):
            def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
                found = super().ask_judge(message, timeout_s, plan)
                return found if found.case in weak else replace(found, answers=())

        session = LoadedSession(cast(Any, Processes(("zeros",))), replace(PROBLEM, cases=(case, *small)))
        return qualify(session, every=False)

    left = report("two")
    assert (left.qualifies, [*left.not_judged]) == (True, ["two"])
    assert "its sizes were derived, and on case two zeros would pass" in left.not_judged["two"]
    assert report("one", "two").qualifies is True
    assert report(case.case.name).qualifies is False
    assert report(case.case.name, "one", "two").qualifies is False


def test_an_output_without_elements_is_the_reason_not_what_would_be_right_for_it() -> None:
    assert reason((0, 4), *NAMES) == "the output has no elements, so that anything would pass"
