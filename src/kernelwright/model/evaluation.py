"""The worker's result for a candidate. Failure is data: every outcome is a status, none an exception."""

from __future__ import annotations

import enum
from typing import Literal

from kernelwright.model.base import LibraryMode, Record
from kernelwright.model.clocks import Clocks


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


class KernelResources(Record, frozen=True, kw_only=True):
    """What the compiler says of one compiled kernel for a target. Registers are per thread, spills bytes per
    thread, shared memory bytes per block, occupancy the fraction of the multiprocessor's warp slots.

    moved_bytes: what a thread loads and stores of global memory in the stretch of code without a branch that moves
    most; in a loop, one turn. None in older journals, and where the code moves nothing that way.
    """

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
    moved_bytes: int | None = None


class LibraryShare(Record, frozen=True, kw_only=True):
    """What a call takes of one operator of the framework. operator: such as "aten.mm". calls: library steps with it.

    share: of the time of a call, as a fraction; None where nothing was timed.
    """

    operator: str
    calls: int
    share: float | None = None


class Timing(Record, frozen=True, kw_only=True):
    """How long one call takes.

    kind "measured": device time, cold cache, median over blocks, on the device named by the environment; beside an
    incumbent scaled to the time that it has in the run, so that times of two GPUs of a kind can be compared.
    kind "estimate": a formula over resources (`roofline.estimate`); no interval, no samples; nothing ran.
    call_us: host time of one synchronised call, launch overhead included; issue_us: of issuing it. None for one that
    was dropped because it is slower than the best so far.
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
    scale: float = 1.0
    """What the clock's times were multiplied by to give these: the incumbent's time in the request, over its time in
    the same race. 1 for what was timed alone, and in older records."""
    gained: bool | None = None
    """Whether it was surely faster than the incumbent of the request; None where there was none."""

    @property
    def clock_us(self) -> float:
        """The median as the clock of its GPU gave it."""
        return self.median_us / self.scale


class Property(Record, frozen=True, kw_only=True):
    """What the inputs of a candidate have to be. A program gives it no others, and an export goes to PyTorch for them.

    name: "dense" (contiguous, row-major), "aligned" (16 bytes), "sized" (not of every size). shown_by: a declaration of
    the candidate, a refusal of its host code, or values that are right for the same memory read as dense. detail: the
    refusal's words.
    """

    name: Literal["dense", "aligned", "sized"]
    shown_by: Literal["declared", "refused", "read as dense"]
    detail: str = ""


class CaseResult(Record, frozen=True, kw_only=True):
    """One case of an evaluation. Errors are absolute, and relative to the output's own scale (its largest
    magnitude in float64); allowed_rel_error is what the tolerance policy permits for this case."""

    case: str
    status: Status
    reason: str = ""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    allowed_rel_error: float | None = None
    element_error: float | None = None
    """The largest error of an element in units of what rounding explains there; None where that was not asked for."""
    allowed_element_error: float | None = None
    unseen: tuple[str, ...] = ()
    """Distributions of inputs that no candidate meets on this case because of its size; they are met on others."""
    timing: Timing | None = None
    library: tuple[LibraryShare, ...] = ()
    """The library steps of a call, by operator."""
    below_bound: str = ""
    """The remark on a time below the derived bound; the candidate was then verified once more on everything."""
    serves: tuple[Property, ...] = ()
    """What this case showed that inputs have to be; () where it showed nothing."""


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
    autotune_moved: dict[str, int] = {}
    """Index of the config that was judged where none was picked and the first ones need more than the device has."""
    stages_s: dict[str, float] = {}
    confinement: dict[str, str] = {}
    log: str = ""
    """What the candidate printed (the end of it)."""
    unqualified: str = ""
    """Why the problem cannot distinguish a kernel from a trivial answer, where the user went on all the same."""
    serves: tuple[Property, ...] = ()
    """What inputs have to be; () for any layout and alignment, and in records of before this was kept."""
    precision: Literal["ieee", "tf32"] = "ieee"
    """How the framework multiplied float32 where it was the measure; in older records IEEE's."""
    dead: tuple[str, ...] = ()
    """Parameters and buffers that no output depends on, such as "parameter conv.bias": a kernel may leave them out."""
    library: LibraryMode = "none"
    """Which library steps the problem allowed; older journals allowed none."""
    judged_source: str | None = None
    """The text that was judged, its config written in, where it is not the candidate's own: without host code that
    does nothing for the kernels, and with refusals in place of branches that no judged case took."""
    from_cache: bool = False
    """Whether this failure was found by an earlier run, and not judged in this one."""
    gpu: str = ""
    """The UUID of the GPU that judged it; "" without one and in older records."""
    lane: str = ""
    """The lane that judged it; "" where there is one worker, and for what was not judged in this run."""
    unjudged: tuple[str, ...] = ()
    """Where these branches are, as "line N: when it is taken"."""
