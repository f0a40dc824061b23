"""Requests of the supervisor to a bench. plan: name of a plan that was sent before. key: name of a prepared plan."""

from __future__ import annotations

from typing import Literal

from kernelwright.model import Clocks as ClockReadings
from kernelwright.worker.bench.race import Race as Raced
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.clock.messages import Call, CaptureAgain, Sample, Warm
from kernelwright.worker.compile.messages import Branches
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.memory import ArenaHandle

Order = Literal["forward", "reversed", "shuffled"]
"""The order in which an interpreter runs the programs of each launch."""


class Reserve(Message[ArenaHandle], frozen=True, kw_only=True, tag="reserve"):
    """Allocate an arena of at least nbytes."""

    nbytes: int


class AddPlan(Message[None], frozen=True, kw_only=True, tag="add plan"):
    """Send a plan to a bench. code: the name of each launch's machine code. precision: of the float32 matrix products
    of library steps."""

    name: str
    plan: Plan
    code: tuple[str, ...]
    precision: Literal["ieee", "tf32"] = "ieee"


class AddText(Message[None], frozen=True, kw_only=True, tag="add text"):
    """Send a plan to an interpreter. kernels: source of its kernels. branches: the compilers' reports on its launches
    (`compile.branches`)."""

    name: str
    plan: Plan
    kernels: str
    branches: tuple[Branches, ...]


class Run(Message[list[str] | None], frozen=True, kw_only=True, tag="run"):
    """Replay one call of a plan on the arena. order, filled, is_watched: for an interpreter. is_watched: whether it
    answers with the line of an access that shares memory with another program ("" if it saw none), and those of loads
    without `other` that had masked lanes. filled: which of these lines get other values there than 0."""

    plan: str
    order: Order = "forward"
    filled: tuple[str, ...] = ()
    is_watched: bool = False


class Prepare(Message[Captured], frozen=True, kw_only=True, tag="prepare"):
    """Prepare a plan for sampling. room: bytes of the largest plan of this case that will be prepared. restored: inputs
    that are restored before each call. least_bytes: that every right kernel moves in a call."""

    key: str
    case: str
    plan: str
    room: int = 0
    restored: tuple[str, ...] = ()
    least_bytes: int = 0


class Race(Message[Raced], frozen=True, kw_only=True, tag="race"):
    """Race a prepared plan against another (`bench.race`). most: maximum number of rounds before places are
    exchanged."""

    key: str
    against: str
    most: int


class Recall(Message[None], frozen=True, kw_only=True, tag="recall"):
    """Run the timed CUDA graph on the contents of the arena and copy its outputs back there, see `Bench.recall`.
    nbytes: size of the plan's layout."""

    key: str
    nbytes: int
    how: Literal["timed", "worn", "once"]


class Forgetting(Message[tuple[list[float], list[float]]], frozen=True, kw_only=True, tag="forgetting"):
    """Measure the device time of calls on memory that earlier calls left, and on newly initialised memory. wear: make
    many calls first. Answers five times of each, in µs."""

    key: str
    nbytes: int
    wear: bool


class Parts(Message[dict[str, float]], frozen=True, kw_only=True, tag="parts"):
    """Measure the device time of a prepared plan's library steps, by operator, and of all its other steps."""

    key: str


class Rename(Message[None], frozen=True, kw_only=True, tag="rename"):
    key: str
    name: str


class Keep(Message[bool], frozen=True, kw_only=True, tag="keep"):
    """Forget every prepared plan of a case except `key`. Answers whether that plan exists, on copies of at least
    nbytes."""

    case: str
    key: str
    nbytes: int


class Clocks(Message[ClockReadings | None], frozen=True, kw_only=True, tag="clocks"):
    """Read NVML's clocks. key: the prepared plan that runs meanwhile; None to read without running one."""

    key: str | None = None


class Forget(Message[None], frozen=True, kw_only=True, tag="forget"):
    key: str


ToInterpreter = AddText | Run
ToBench = (
    Reserve | AddPlan | Run | Prepare | Sample | Call | CaptureAgain | Race | Warm | Recall | Forgetting | Parts
    | Rename
    | Keep | Clocks | Forget
)  # fmt: skip
