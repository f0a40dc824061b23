"""Messages from the supervisor to a judge. In a message, `plan` is the name of a plan that `AddPlan` sent before."""

from __future__ import annotations

from typing import Literal

from kernelwright.model import AS_KEPT, Case, CaseFacts, CaseQualification, CaseResult, Loading, ProblemInfo, Record
from kernelwright.worker.clock.captured import Captured, MeasuredPeaks
from kernelwright.worker.clock.messages import Call, CaptureAgain, Sample, Warm
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.memory import ArenaHandle


class CaseRead(CaseFacts, frozen=True, kw_only=True):
    """A case whose bound is not known yet, with what that follows from. stated: see `Bound`."""

    written_bytes: int
    flop_by_dtype: dict[str, int]
    stated: tuple[Literal["bytes", "flop"], ...]


class ProblemRead(Record, frozen=True, kw_only=True):
    """What the coordinator may know of a problem. problem: still without cases. shapes: for a recorder, last those of
    the copies with other layouts."""

    problem: ProblemInfo
    cases: tuple[CaseRead, ...]
    shapes: tuple[CaseShape, ...]


class Added(Record, frozen=True, kw_only=True):
    """Cases that the problem does not have. names: by case, the sizes for which it was made."""

    cases: tuple[Case, ...]
    names: dict[str, tuple[str, ...]]
    shapes: tuple[CaseShape, ...]


class Load(Message[ProblemRead], frozen=True, kw_only=True, tag="load"):
    """Read the problem. cases: used in place of the problem's cases; None: `loading` says how to find them."""

    path: str
    loading: Loading = AS_KEPT
    cases: tuple[Case, ...] | None = None


class Longer(Message[Added], frozen=True, kw_only=True, tag="longer"):
    """Add the cases of `reference.longer.longer`, between the judged cases and a large one."""

    judged: tuple[str, ...]
    large: str
    parts: tuple[tuple[str, float], ...] | None = None


class Like(Message[Added], frozen=True, kw_only=True, tag="like"):
    """Describe a case, if it is the same problem as another one; a small case that runs is added."""

    case: Case
    other: str


class Odd(Message[Added], frozen=True, kw_only=True, tag="odd"):
    """Add a derived case of odd sizes, whatever the problem states; none where there is none."""


class Peaks(Message[MeasuredPeaks], frozen=True, kw_only=True, tag="peaks"):
    """The measured peaks of this GPU. file: their cache."""

    file: str


class Draws(Message[list[int]], frozen=True, kw_only=True, tag="draws"):
    """The numbers of the draws that judge a candidate."""

    case: str


class Again(Message[list[int]], frozen=True, kw_only=True, tag="again"):
    """The numbers of the draws that repeat draw 0 with some inputs changed, on memory that is not cleared."""

    case: str


class Qualify(Message[CaseQualification | str], frozen=True, kw_only=True, tag="qualify"):
    """Whether trivial answers would pass on a case. draws: whether to describe its draws, which takes all of them."""

    case: str
    draws: bool = False


class Unjudged(Message[list[str]], frozen=True, kw_only=True, tag="unjudged"):
    """What too few draws of a verified case judge, in words."""

    case: str


class AddPlan(Message[None], frozen=True, kw_only=True, tag="add plan"):
    name: str
    plan: Plan


class Measure(Message[float], frozen=True, kw_only=True, tag="measure"):
    """Measure the tolerance of a draw before there is a candidate. Answers the seconds that this took."""

    case: str
    draw: int


class Fill(Message[float], frozen=True, kw_only=True, tag="fill"):
    """Write inputs to their places in the plan. fresh: whether all other memory is poisoned. Answers the seconds of
    measuring the tolerance."""

    case: str
    draw: int
    plan: str
    arena: ArenaHandle
    fresh: bool


class Check(Message[CaseResult], frozen=True, kw_only=True, tag="check"):
    """Compare the memory that a replay left in the arena. first: compare only the first outputs; None: all."""

    case: str
    draw: int
    plan: str
    arena: ArenaHandle
    first: int | None = None


class Prepare(Message[Captured], frozen=True, kw_only=True, tag="prepare"):
    """Prepare a baseline of the framework for timing, in place of the one of that name. name: such as "eager".
    least_bytes: that every right kernel moves in a call."""

    case: str
    name: str
    least_bytes: int = 0


class Forget(Message[None], frozen=True, kw_only=True, tag="forget"):
    """Free every prepared baseline of the framework."""


ToJudge = (
    Load | Longer | Like | Odd | Peaks | Draws | Again | Qualify | Unjudged | AddPlan | Measure | Fill | Check
    | Prepare | CaptureAgain | Sample | Call | Warm | Forget
)  # fmt: skip
