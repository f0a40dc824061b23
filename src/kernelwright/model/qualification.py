"""Whether a problem can tell a kernel from an answer that computes nothing."""

from __future__ import annotations

from kernelwright.model.base import Record


class TrivialAnswer(Record, frozen=True, kw_only=True):
    """An answer that takes no computing (or ignores something), held against the tolerance of a case.

    name: what was answered, such as "zeros" or "input x as it is". output: which output of the problem. accepted: a
    kernel that answers so would pass. Errors are relative to the output's own scale, on the draw that tells most;
    None where NaN or infinity stands in the way. margin: how many times over the tolerance, at most 1 is accepted;
    None where no tolerance would do. allclose_from: the smallest atol = rtol at which `torch.allclose` accepts it.
    """

    name: str
    output: int
    accepted: bool
    max_rel_error: float | None
    rms_rel_error: float | None
    allowed_rel_error: float
    allowed_rms_error: float
    margin: float | None
    allclose_from: float | None


class CaseQualification(Record, frozen=True, kw_only=True):
    """What a case tells apart. answers: trivial ones. ignored: for each input, parameter and buffer, the answer of a
    kernel that ignores it (right for other values). constant: those that are the same in every draw. rounded: outputs
    of whole numbers that the framework's rounding changes, of which both its own and float64's are right."""

    case: str
    answers: tuple[TrivialAnswer, ...]
    ignored: tuple[TrivialAnswer, ...] = ()
    constant: tuple[str, ...] = ()
    rounded: tuple[int, ...] = ()

    @property
    def accepted(self) -> tuple[TrivialAnswer, ...]:
        """Those that should not pass and would."""
        return tuple(answer for answer in (*self.answers, *self.ignored) if answer.accepted)


class QualificationReport(Record, frozen=True, kw_only=True):
    """Whether a problem can tell a kernel from a trivial answer. qualifies: None where no case could be judged here.
    not_judged: the reason for each case that this machine could not judge."""

    schema_version: int = 1
    problem: str
    qualifies: bool | None
    reason: str = ""
    cases: tuple[CaseQualification, ...] = ()
    not_judged: dict[str, str] = {}
