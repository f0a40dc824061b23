"""Messages from the supervisor to a judge. In a message, `plan` is the name of a plan that `AddPlan` sent before."""

from __future__ import annotations

from typing import Any

from kernelwright.model import AS_KEPT, Case, Loading
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.processes.channel import Message


class Load(Message, frozen=True, kw_only=True, tag="load"):
    """Read the problem. cases: used in place of the problem's cases; None: `loading` says how to find them."""

    path: str
    loading: Loading = AS_KEPT
    cases: tuple[Case, ...] | None = None


class Shapes(Message, frozen=True, kw_only=True, tag="shapes"):
    """The shapes of each case, for a recorder."""


class Between(Message, frozen=True, kw_only=True, tag="between"):
    """Add the cases between a small and a large one (`reference.derive.between`). Returns them with their shapes."""

    small: str
    large: str


class Peaks(Message, frozen=True, kw_only=True, tag="peaks"):
    """The measured peaks of this GPU. file: their cache."""

    file: str


class Draws(Message, frozen=True, kw_only=True, tag="draws"):
    """The numbers of the draws that judge a candidate."""

    case: str


class Again(Message, frozen=True, kw_only=True, tag="again"):
    """The numbers of the draws that repeat draw 0 with some inputs changed, on memory that is not cleared."""

    case: str


class AsDense(Message, frozen=True, kw_only=True, tag="as_dense"):
    """For a case with padded inputs: the numbers of the draws whose expected outputs take inputs as dense (none if the
    reference does not support them), and the number of readings. reading: selects the inputs taken as dense; 0: all."""

    case: str
    reading: int = 0


class Qualify(Message, frozen=True, kw_only=True, tag="qualify"):
    """Whether trivial answers would pass on a case. draws: whether to describe its draws, which takes all of them."""

    case: str
    draws: bool = False


class Unjudged(Message, frozen=True, kw_only=True, tag="unjudged"):
    """What too few draws of a verified case judge, in words."""

    case: str


class AddPlan(Message, frozen=True, kw_only=True, tag="add plan"):
    name: str
    plan: Plan


class Measure(Message, frozen=True, kw_only=True, tag="measure"):
    """Measure the tolerance of a draw before there is a candidate. The answer is the seconds that this took."""

    case: str
    draw: int


class Fill(Message, frozen=True, kw_only=True, tag="fill"):
    """Write inputs to their places in the plan. arena: its handle. fresh: whether all other memory is poisoned."""

    case: str
    draw: int
    plan: str
    arena: dict[str, Any]
    fresh: bool


class Check(Message, frozen=True, kw_only=True, tag="check"):
    """Compare the memory that a replay left in the arena. first: compare only the first outputs; None: all."""

    case: str
    draw: int
    plan: str
    arena: dict[str, Any]
    first: int | None = None


class Prepare(Message, frozen=True, kw_only=True, tag="prepare"):
    """Prepare a baseline of the framework for timing. name: such as "eager". least_bytes: that every right kernel moves
    in a call."""

    case: str
    name: str
    least_bytes: int = 0


class CaptureAgain(Message, frozen=True, kw_only=True, tag="capture again"):
    case: str
    name: str


class Sample(Message, frozen=True, kw_only=True, tag="sample"):
    case: str
    name: str


class Call(Message, frozen=True, kw_only=True, tag="call"):
    """Measure the host time of one synchronised call, and of issuing it, in µs."""

    case: str
    name: str


class Warm(Message, frozen=True, kw_only=True, tag="warm"):
    """Measure the device time of a call with its inputs in the cache, in µs."""

    case: str
    name: str


class Forget(Message, frozen=True, kw_only=True, tag="forget"):
    """Free every prepared baseline of the framework."""


ToJudge = (
    Load | Shapes | Between | Peaks | Draws | Again | AsDense | Qualify | Unjudged | AddPlan | Measure | Fill | Check
    | Prepare | CaptureAgain | Sample | Call | Warm | Forget
)  # fmt: skip
