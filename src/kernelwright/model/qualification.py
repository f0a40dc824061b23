"""Records of `qualify`: whether a problem can distinguish a kernel from a trivial answer."""

from __future__ import annotations

from kernelwright.model.base import Record


class TrivialAnswer(Record, frozen=True, kw_only=True):
    """An answer without computation (or one that ignores an input), compared by the tolerance of a case.

    name: the answer, such as "zeros" or "input x as it is". output: index of the problem's output. accepted: a kernel
    with this answer would pass. Errors are relative to the output's scale, on the most revealing draw; None if an error
    is NaN or infinite. margin: error over tolerance, accepted up to 1; None if no tolerance would accept the answer.
    allclose_from: the smallest atol = rtol at which `torch.allclose` accepts it.
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


class Drawn(Record, frozen=True, kw_only=True):
    """A draw that judges every candidate. offered: the distribution that is tried first. used: the one that is used,
    because it can be judged fairly. judged: the share of elements that it judges, of the output with the least."""

    offered: str
    used: str
    judged: float


class CaseQualification(Record, frozen=True, kw_only=True):
    """The qualification of one case. answers: trivial answers. ignored: for each input, parameter and buffer, the
    answer of a kernel that ignores it (correct for other values). constant: inputs, parameters and buffers that are the
    same in every draw. rounded: integer outputs that the framework's rounding changes; its own value and that of
    float64 both count as correct. dead: parameters and buffers that no output depends on, in float64, and inputs that
    forward gives to no operator or only writes; a kernel may leave their values out. unused: other inputs that no
    output depends on, in float64; such a problem does not qualify. draws: of all that judge candidates; () where they
    were not asked for."""

    case: str
    answers: tuple[TrivialAnswer, ...]
    ignored: tuple[TrivialAnswer, ...] = ()
    constant: tuple[str, ...] = ()
    rounded: tuple[int, ...] = ()
    dead: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    draws: tuple[Drawn, ...] = ()

    @property
    def accepted(self) -> tuple[TrivialAnswer, ...]:
        """The trivial answers that would wrongly pass."""
        rightly = {f"without {name}" for name in self.dead}
        return tuple(one for one in (*self.answers, *self.ignored) if one.accepted and one.name not in rightly)


class QualificationReport(Record, frozen=True, kw_only=True):
    """Whether a problem can distinguish a kernel from a trivial answer. qualifies: None if this machine could judge no
    case. not_judged: by case that does not count, the reason: this machine could not judge it, or its sizes are derived
    and it accepts a trivial answer. constant: what no draw varies: tensors that are the same in every draw of each
    judged case, and arguments that are no tensors and the same in every case."""

    schema_version: int = 1
    problem: str
    qualifies: bool | None
    reason: str = ""
    cases: tuple[CaseQualification, ...] = ()
    not_judged: dict[str, str] = {}
    constant: tuple[str, ...] = ()

    @property
    def dead(self) -> tuple[str, ...]:
        """Tensors that no output of any judged case depends on."""
        every = [set(case.dead) for case in self.cases]
        return tuple(name for name in (self.cases[0].dead if every else ()) if all(name in one for one in every))
