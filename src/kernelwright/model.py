"""The nouns: frozen records that pass between the parts. Pure data; imports nothing of ours.

Times are microseconds (`_us`), sizes bytes, ratios fractions. `None` means absent, never zero.
"""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Literal

import msgspec

Scalar = bool | int | float | str
"""What a case parameter or a configuration value may be."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """Base of all records: immutable, keyword-only, strict when decoded."""


class Status(str, enum.Enum):
    """How an evaluation, or one case of it, ended. Closed: a new outcome is a new member."""

    PASSED = "passed"
    WRONG = "wrong"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    REJECTED = "rejected"
    NOT_VERIFIED = "not_verified"
    """Nothing failed, but this machine could not judge the values (see `CaseResult.reason`)."""


class Operator(str, enum.Enum):
    """What a strategy may ask a proposer to do."""

    SEED = "seed"
    IMPROVE = "improve"
    REPAIR = "repair"
    REWRITE_SIMPLY = "rewrite_simply"
    MERGE = "merge"
    TUNE = "tune"


# --- problem ------------------------------------------------------------------------------------------------


class Case(Record, frozen=True, kw_only=True):
    """One concrete size of a problem.

    name: unique within the problem. params: what the problem's functions take by name (or module constants
    that they override). dtype: torch's name ("bfloat16"), None for as given. held_out: only for the
    confirmation. small: verified first, and the only ones that the CPU interpreter runs; never timed.
    """

    name: str
    params: dict[str, Scalar] = {}
    dtype: str | None = None
    held_out: bool = False
    small: bool = False

    @property
    def timed(self) -> bool:
        """Whether a search scores this case."""
        return not (self.small or self.held_out)


class TensorSpec(Record, frozen=True, kw_only=True):
    """Shape, dtype and strides (in elements) of a tensor, without its values. offset: of its first element in its
    storage, in elements."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    offset: int = 0


class Bound(Record, frozen=True, kw_only=True):
    """The time that no kernel can beat on this device for this work, and which limit sets it."""

    bound_us: float
    bound_by: Literal["bytes", "flop"]
    bytes: int
    flop: int
    peaks: str
    """Where the peaks come from: "measured <device> <date>" or "datasheet <target>"."""


class CaseInfo(Record, frozen=True, kw_only=True):
    """A case with what it takes and gives, and the least work it must do."""

    case: Case
    inputs: tuple[TensorSpec | Scalar | None, ...]
    """In the order of forward's arguments; a None here is the value None."""
    outputs: tuple[TensorSpec, ...]
    bytes: int
    flop: int
    bound: Bound


class ProblemInfo(Record, frozen=True, kw_only=True):
    """What the coordinator knows of a problem. It never imports the problem; the worker tells it."""

    name: str
    format: Literal["kernelbench", "native"]
    source: str
    """The problem file's text."""
    cases: tuple[CaseInfo, ...]
    parameters: dict[str, tuple[int, ...]] = {}
    """Names and shapes of the reference module's parameters and buffers (for the first case)."""
    docstring: str = ""


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
    kernel that ignores it (right for other values). constant: those that are the same in every draw."""

    case: str
    answers: tuple[TrivialAnswer, ...]
    ignored: tuple[TrivialAnswer, ...] = ()
    constant: tuple[str, ...] = ()

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


# --- candidate ----------------------------------------------------------------------------------------------


class Candidate(Record, frozen=True, kw_only=True):
    """Source text of a module plus the values of its tunables.

    `config` maps tunable names (see `tunables`) to values; an empty one leaves the source as written.
    """

    source: str
    config: dict[str, int] = {}

    @property
    def id(self) -> str:
        """Twelve hex digits naming source and config."""
        text = json.dumps([self.source, sorted(self.config.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Request(Record, frozen=True, kw_only=True):
    """What a strategy asks for.

    number: 0, 1, 2, … in the order asked; it names the trial. round: which generation, from 0 (the seed).
    parents: trial numbers. candidate: exactly this is to be evaluated (a starter, a stated config).
    """

    number: int
    operator: Operator
    round: int = 0
    parents: tuple[int, ...] = ()
    candidate: Candidate | None = None


class Usage(Record, frozen=True, kw_only=True):
    """What a proposal cost. cost_usd is None where the price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    requests: int = 0
    """HTTP requests made, retries included."""


class Proposal(Record, frozen=True, kw_only=True):
    """What came back from a proposer: a candidate or an error, never both.

    author: who wrote it: "starter", "builtin", "anthropic:<model>", "openai:<model>", "mailbox:<who>",
    "replay:<run>", "script". prompt and reply: hashes of blobs in the journal, None where there was none.
    """

    author: str
    candidate: Candidate | None = None
    error: str | None = None
    usage: Usage = Usage()
    prompt: str | None = None
    reply: str | None = None
    note: str = ""
    """One line on what was changed and why, for people."""


# --- evaluation ---------------------------------------------------------------------------------------------


class KernelResources(Record, frozen=True, kw_only=True):
    """What the compiler says of one compiled kernel for a target. Registers are per thread, spills bytes per
    thread, shared memory bytes per block, occupancy the fraction of the multiprocessor's warp slots."""

    kernel: str
    target: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    num_warps: int
    num_stages: int
    occupancy: float
    limited_by: Literal["warps", "registers", "shared", "blocks"]
    cubin_sha: str


class Clocks(Record, frozen=True, kw_only=True):
    """What NVML said while timing. throttle: names of the active reasons other than idle."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    throttle: tuple[str, ...] = ()


class Timing(Record, frozen=True, kw_only=True):
    """How long one call takes.

    kind "measured": device time, cold cache, median over blocks, on the device named by the environment.
    kind "estimate": a formula over resources (`roofline.estimate`); no interval, no samples; nothing ran.
    call_us: host time of one synchronised call, launch overhead included.
    """

    kind: Literal["measured", "estimate"]
    median_us: float
    ci95_us: tuple[float, float] | None = None
    samples_us: tuple[float, ...] = ()
    call_us: float | None = None
    issue_us: float | None = None
    method: str = ""
    stopped: str = ""
    """Why sampling stopped."""
    clocks: Clocks | None = None


class CaseResult(Record, frozen=True, kw_only=True):
    """One case of an evaluation. Errors are absolute, and relative to the output's own scale (its largest
    magnitude in float64); allowed_rel_error is what the tolerance policy permits for this case."""

    case: str
    status: Status
    reason: str = ""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    allowed_rel_error: float | None = None
    timing: Timing | None = None


class Evaluation(Record, frozen=True, kw_only=True):
    """What the worker found. Failure is data.

    verified_on: "device" (values compared on the GPU that was timed), "interpreter" (Triton's CPU interpreter,
    small cases only: the logic is plausible), None (values never compared).
    score_us: geometric mean over the timed cases, None unless the status is passed; its kind is timing_kind.
    kernels: resources of each distinct compiled kernel. compiled: hash over all of them (and the launch plan's
    shape), the identity used to tell candidates apart. stages_s: seconds by stage.
    """

    status: Status
    reason: str = ""
    results: tuple[CaseResult, ...] = ()
    verified_on: Literal["device", "interpreter"] | None = None
    score_us: float | None = None
    timing_kind: Literal["measured", "estimate"] | None = None
    kernels: tuple[KernelResources, ...] = ()
    compiled: str | None = None
    autotune: dict[str, int] = {}
    """Number of configs under `triton.autotune`, by kernel; config key "autotune:<kernel>" picks one."""
    stages_s: dict[str, float] = {}
    confinement: dict[str, str] = {}
    log: str = ""
    """What the candidate printed (the end of it)."""
    unqualified: str = ""
    """Why the problem cannot tell a kernel from a trivial answer, where somebody went on all the same."""


class Environment(Record, frozen=True, kw_only=True):
    """Where something was measured. device is the GPU's name, or None on a machine without one."""

    device: str | None
    target: str
    """Compile target, such as "sm_90"."""
    python: str
    torch: str
    triton: str
    driver: str | None = None
    kernelwright: str = ""
    date: str = ""
    peaks: dict[str, float] = {}
    """Measured peaks: copy_bytes_per_s, read_bytes_per_s, write_bytes_per_s, <dtype>_flop_per_s."""
    peaks_source: str = ""


class Attempt(Record, frozen=True, kw_only=True):
    """Something that confined host code must not be able to do, tried on this machine. how: what stopped it."""

    what: str
    refused: bool
    how: str


class Machine(Record, frozen=True, kw_only=True):
    """What a worker found on its machine by trying. Each text says what is there, or why not.

    measures: of confinement, by name, with "in force" or why not.
    """

    gpu: str
    nvml: str
    profiler: str
    measures: dict[str, str]
    attempts: tuple[Attempt, ...]


class Trial(Record, frozen=True, kw_only=True):
    """Request, proposal and evaluation under one number. evaluation is None where the proposal was an error."""

    request: Request
    proposal: Proposal
    evaluation: Evaluation | None = None

    @property
    def number(self) -> int:
        return self.request.number

    @property
    def passed(self) -> bool:
        return self.evaluation is not None and self.evaluation.status is Status.PASSED

    @property
    def score_us(self) -> float | None:
        """Lower is better; None unless it passed."""
        return self.evaluation.score_us if self.passed and self.evaluation is not None else None


# --- bench --------------------------------------------------------------------------------------------------


class Implementation(Record, frozen=True, kw_only=True):
    """One row of `bench`: an implementation on a case.

    speedup: against the best of the framework's own (eager, compile, compile_max_autotune), above 1 is faster.
    verdict: None for the framework's own rows. fraction_of_bound: bound_us / median_us.
    """

    name: str
    status: Status
    reason: str = ""
    median_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    call_us: float | None = None
    issue_us: float | None = None
    warm_us: float | None = None
    """Device time when the inputs were just used; `median_us` is with a cold cache."""
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    verdict: Literal["faster", "tie", "slower"] | None = None
    fraction_of_bound: float | None = None
    kind: Literal["measured", "estimate"] = "measured"
    repeats_us: tuple[float, ...] = ()
    """Medians of the processes of `bench --repeat`, this row being the middle one; empty without repeats."""
    spread: float | None = None
    """Largest less smallest of `repeats_us`, as a fraction of their median."""
    samples_us: tuple[float, ...] = ()
    method: str = ""
    clocks: Clocks | None = None


class BenchCase(Record, frozen=True, kw_only=True):
    case: str
    held_out: bool
    bound_us: float
    bound_by: str
    implementations: tuple[Implementation, ...]


class BenchReport(Record, frozen=True, kw_only=True):
    """The document of `bench --json` and of `gallery/<problem>/results/<device>.json`."""

    schema_version: int = 1
    problem: str
    environment: Environment
    cases: tuple[BenchCase, ...]
    command: str = ""
    unqualified: str = ""
    """As in `Evaluation`."""


# --- run ----------------------------------------------------------------------------------------------------


class Budget(Record, frozen=True, kw_only=True):
    """What a run may spend; None is no limit. Every limit counts what is in flight."""

    trials: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None


class RunSettings(Record, frozen=True, kw_only=True):
    """Everything that decides a run, kept in its journal. Options are plain data, read by what they name."""

    problem: str
    strategy: str = "beam"
    strategy_options: dict[str, Scalar] = {}
    proposer: str = "builtin"
    proposer_options: dict[str, Scalar] = {}
    seed: int = 0
    budget: Budget = Budget()
    in_flight: int = 1
    """How many requests may be under way at once."""
    dtype: str | None = None
    unqualified: bool = False
    """Whether to go on with a problem that does not qualify; every result then says so."""


class RunInfo(Record, frozen=True, kw_only=True):
    """The head of a journal: written once, before the first event."""

    schema_version: int
    kernelwright: str
    created: str
    settings: RunSettings
    problem: ProblemInfo
    environment: Environment
    starter: Candidate | None = None
