"""Messages between a client and a worker: tagged records, each sent as a line of JSON."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from kernelwright.model.base import Record
from kernelwright.model.bench import BenchReport
from kernelwright.model.evaluation import Evaluation
from kernelwright.model.generated import Generated
from kernelwright.model.machine import Environment, Machine
from kernelwright.model.problem import AS_KEPT, Loading, ProblemInfo
from kernelwright.model.profile import Profile
from kernelwright.model.proposal import Candidate
from kernelwright.model.qualification import QualificationReport
from kernelwright.model.trial import Incumbent

T = TypeVar("T", covariant=True)


class Call(Record, Generic[T], frozen=True, kw_only=True, tag_field="verb", tag=True):
    """Base class of the calls; `evaluator.protocol.Worker` describes each. A `Call[T]` is answered with a T. id: number
    of the call, repeated in its answer."""

    id: int = -1

    @property
    def verb(self) -> str:
        """The tag of the call, for messages."""
        return str(self.__struct_config__.tag)


class DescribeEnvironment(Call[Environment], frozen=True, kw_only=True, tag="environment"):
    pass


class DescribeMachine(Call[Machine], frozen=True, kw_only=True, tag="machine"):
    pass


class LoadProblem(Call[ProblemInfo], frozen=True, kw_only=True, tag="load"):
    """Load a problem. files: file contents by path, for a worker on another host; `path` is then one of these paths.
    {}: `path` is on the worker's disk."""

    path: str
    loading: Loading = AS_KEPT
    files: dict[str, bytes] = {}


class QualifyProblem(Call[QualificationReport], frozen=True, kw_only=True, tag="qualify"):
    every: bool


class GenerateText(Call[Generated], frozen=True, kw_only=True, tag="generate"):
    pass


class CompileCandidate(Call[Evaluation], frozen=True, kw_only=True, tag="compile"):
    candidate: Candidate
    purpose: str


class EvaluateCandidate(Call[Evaluation], frozen=True, kw_only=True, tag="evaluate"):
    candidate: Candidate
    purpose: str
    incumbent: Incumbent | None = None


class BenchCandidates(Call[BenchReport], frozen=True, kw_only=True, tag="bench"):
    """Time candidates. framework: names of the framework's rows, such as "eager"; () if candidates are compared with
    the candidate `against`."""

    candidates: dict[str, Candidate]
    cases: tuple[str, ...]
    framework: tuple[str, ...]
    against: str | None = None


class ProfileCandidate(Call[Profile], frozen=True, kw_only=True, tag="profile"):
    candidate: Candidate
    case: str
    full: bool


class ProfileFramework(Call[Profile], frozen=True, kw_only=True, tag="profile framework"):
    """name: "eager" or "compile"."""

    name: str
    case: str
    full: bool


class Ping(Call[None], frozen=True, kw_only=True, tag="ping"):
    """Answered immediately, even while other calls run."""


class Close(Call[None], frozen=True, kw_only=True, tag="close"):
    """End the worker. There is no answer."""


ToWorker = (
    DescribeEnvironment | DescribeMachine | LoadProblem | QualifyProblem | GenerateText | CompileCandidate
    | EvaluateCandidate | BenchCandidates | ProfileCandidate | ProfileFramework | Ping | Close
)  # fmt: skip


PROTOCOL = 2
"""Protocol version. It is increased for every message that a client or worker of another version cannot read."""


class Hello(Record, frozen=True, kw_only=True):
    """The first message of a worker: its software and hardware. A client refuses a worker with another `protocol`.

    device: the GPU's name, gpu: its UUID; both None without a GPU. cores: number of cores to compile on.
    """

    protocol: int
    kernelwright: str
    host: str
    device: str | None
    gpu: str | None
    target: str
    driver: str | None
    torch: str
    triton: str
    cores: int

    @property
    def kind(self) -> dict[str, str | None]:
        """The fields that must be equal for all workers of one run, by name."""
        names = ("device", "target", "driver", "torch", "triton", "kernelwright")
        return {name: getattr(self, name) for name in names}


class Returned(Record, frozen=True, kw_only=True, tag_field="answer", tag="returned"):
    """A result. id: of the call; None for the first line of a worker, whose value is its `Hello`. value: plain data."""

    id: int | None
    value: Any


class Raised(Record, frozen=True, kw_only=True, tag_field="answer", tag="raised"):
    """An exception. kind: the name of its class in `errors`."""

    id: int | None
    error: str
    kind: str
    hint: str | None


FromWorker = Returned | Raised
