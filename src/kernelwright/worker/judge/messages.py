"""Requests of the supervisor to a judge. `plan` is the name of one that was sent before, by `AddPlan`."""

from __future__ import annotations

from typing import Any

from kernelwright.model import Case, WhichCases
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.processes.channel import Message


class Load(Message, frozen=True, kw_only=True, tag="load"):
    """Read the problem. dtype: of every case that is not small; None for the problem's own. cases: in place of the
    problem's; None to find them, those that `which` says."""

    path: str
    dtype: str | None
    which: WhichCases = "kept"
    cases: tuple[Case, ...] | None = None


class Shapes(Message, frozen=True, kw_only=True, tag="shapes"):
    """What a recorder is given of each case."""


class Peaks(Message, frozen=True, kw_only=True, tag="peaks"):
    """Peaks of this GPU. file: where they are kept."""

    file: str


class Draws(Message, frozen=True, kw_only=True, tag="draws"):
    """The numbers of the draws that judge a candidate."""

    case: str


class Again(Message, frozen=True, kw_only=True, tag="again"):
    """The numbers of the draws that follow draw 0 on memory that is not cleared."""

    case: str


class AsDense(Message, frozen=True, kw_only=True, tag="as_dense"):
    """The numbers of the draws that expect what dense memory gives, of a case whose inputs are laid out otherwise (none
    where the reference cannot tell), and the number of readings. reading: which inputs are read as dense, 0 for all."""

    case: str
    reading: int = 0


class Qualify(Message, frozen=True, kw_only=True, tag="qualify"):
    case: str


class AddPlan(Message, frozen=True, kw_only=True, tag="add plan"):
    name: str
    plan: Plan


class Fill(Message, frozen=True, kw_only=True, tag="fill"):
    """Write inputs where the plan wants them. arena: its handle. fresh: poison all other memory."""

    case: str
    draw: int
    plan: str
    arena: dict[str, Any]
    fresh: bool


class Check(Message, frozen=True, kw_only=True, tag="check"):
    """Compare what a replay left in the arena. first: how many outputs are compared, None: all."""

    case: str
    draw: int
    plan: str
    arena: dict[str, Any]
    first: int | None = None


class Prepare(Message, frozen=True, kw_only=True, tag="prepare"):
    """Make an implementation of the framework ready to be sampled. name: such as "eager"."""

    case: str
    name: str


class CaptureAgain(Message, frozen=True, kw_only=True, tag="capture again"):
    case: str
    name: str


class Sample(Message, frozen=True, kw_only=True, tag="sample"):
    case: str
    name: str


class Call(Message, frozen=True, kw_only=True, tag="call"):
    """Host time of one synchronised call, and of issuing it, in µs."""

    case: str
    name: str


class Warm(Message, frozen=True, kw_only=True, tag="warm"):
    """Device time of a call that finds its inputs in the cache, in µs."""

    case: str
    name: str


class Forget(Message, frozen=True, kw_only=True, tag="forget"):
    """Forget every implementation of the framework."""


ToJudge = (
    Load | Shapes | Peaks | Draws | Again | AsDense | Qualify | AddPlan | Fill | Check
    | Prepare | CaptureAgain | Sample | Call | Warm | Forget
)  # fmt: skip
