"""Requests of the supervisor to a bench. `plan` is the name of one that was sent before; `key` names a prepared one."""

from __future__ import annotations

from typing import Literal

from kernelwright.worker.compile.messages import Branches
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.processes.channel import Message


class Reserve(Message, frozen=True, kw_only=True, tag="reserve"):
    """An arena of at least nbytes."""

    nbytes: int


class AddPlan(Message, frozen=True, kw_only=True, tag="add plan"):
    """code: the name of each launch's machine code. precision: of the float32 products of library steps."""

    name: str
    plan: Plan
    code: tuple[str, ...]
    precision: Literal["ieee", "tf32"] = "ieee"


class AddText(Message, frozen=True, kw_only=True, tag="add text"):
    """For the interpreter. kernels: their source. branches: what the compilers reported of the launches."""

    name: str
    plan: Plan
    kernels: str
    branches: tuple[Branches, ...]


class Run(Message, frozen=True, kw_only=True, tag="run"):
    """One call on the arena."""

    plan: str


class Prepare(Message, frozen=True, kw_only=True, tag="prepare"):
    """Make a plan ready to be sampled. room: bytes that the largest plan of the case to come needs. restored: inputs
    that are put back before each call."""

    key: str
    case: str
    plan: str
    room: int = 0
    restored: tuple[str, ...] = ()


class Sample(Message, frozen=True, kw_only=True, tag="sample"):
    key: str
    count: int


class Call(Message, frozen=True, kw_only=True, tag="call"):
    """Host time of one synchronised call, and of issuing it, in µs."""

    key: str


class CaptureAgain(Message, frozen=True, kw_only=True, tag="capture again"):
    key: str


class Race(Message, frozen=True, kw_only=True, tag="race"):
    """most: rounds before places are exchanged."""

    key: str
    against: str
    most: int


class Warm(Message, frozen=True, kw_only=True, tag="warm"):
    """Device time of a call that finds its inputs in the cache, in µs."""

    key: str


class Recall(Message, frozen=True, kw_only=True, tag="recall"):
    """Run what is timed on the arena's contents, and leave there what it left. nbytes: of the plan's layout."""

    key: str
    nbytes: int
    how: Literal["timed", "worn", "once"]


class Forgetting(Message, frozen=True, kw_only=True, tag="forgetting"):
    """Device time of calls on memory as earlier ones left it, and on fresh memory."""

    key: str
    nbytes: int
    wear: bool


class Parts(Message, frozen=True, kw_only=True, tag="parts"):
    """Device time of the library steps of a prepared plan, by operator, and of all other steps."""

    key: str


class Rename(Message, frozen=True, kw_only=True, tag="rename"):
    key: str
    name: str


class Keep(Message, frozen=True, kw_only=True, tag="keep"):
    """Forget every prepared plan of a case but `key`. Whether that one is there, on copies of at least nbytes."""

    case: str
    key: str
    nbytes: int


class Clocks(Message, frozen=True, kw_only=True, tag="clocks"):
    """key: of the plan that runs meanwhile; None: whatever runs."""

    key: str | None = None


class Forget(Message, frozen=True, kw_only=True, tag="forget"):
    key: str


ToInterpreter = AddText | Run
ToBench = (
    Reserve | AddPlan | Run | Prepare | Sample | Call | CaptureAgain | Race | Warm | Recall | Forgetting | Parts
    | Rename
    | Keep | Clocks | Forget
)  # fmt: skip
