"""Whether a problem can distinguish a kernel from an answer that computes nothing."""

from __future__ import annotations

from kernelwright.model.base import Record


class TrivialAnswer(Record, frozen=True, kw_only=True):
    """An answer that takes no computing (or ignores something), judged by the tolerance of a case.

    name: what was answered, such as "zeros" or "input x as it is". output: which output of the problem. accepted: a
    kernel that answers so would pass. Errors are relative to the output's own scale, on the draw that tells most;
    None where an error is NaN or infinite. margin: how many times over the tolerance, at most 1 is accepted;
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
    of whole numbers that the framework's rounding changes, of which both its own and float64's are right. dead:
    parameters and buffers that no output depends on, in float64; a kernel may leave them out. unused: inputs of which
    the same is true; the problem is refused, and its text is the cause."""

    case: str
    answers: tuple[TrivialAnswer, ...]
    ignored: tuple[TrivialAnswer, ...] = ()
    constant: tuple[str, ...] = ()
    rounded: tuple[int, ...] = ()
    dead: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[TrivialAnswer, ...]:
        """Those that should not pass and would."""
        rightly = {f"without {name}" for name in self.dead}
        return tuple(one for one in (*self.answers, *self.ignored) if one.accepted and one.name not in rightly)


class QualificationReport(Record, frozen=True, kw_only=True):
    """Whether a problem can distinguish a kernel from a trivial answer. qualifies: None where no case could be judged
    here. not_judged: the reason for each case that this machine could not judge."""

    schema_version: int = 1
    problem: str
    qualifies: bool | None
    reason: str = ""
    cases: tuple[CaseQualification, ...] = ()
    not_judged: dict[str, str] = {}

    @property
    def dead(self) -> tuple[str, ...]:
        """Parameters and buffers that no output of any judged case depends on."""
        every = [set(case.dead) for case in self.cases]
        return tuple(name for name in (self.cases[0].dead if every else ()) if all(name in one for one in every))
