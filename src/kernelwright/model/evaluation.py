"""The worker's result for a candidate. Every outcome, also a failure, is a status and not an exception."""

from __future__ import annotations

import enum
from typing import Literal

from kernelwright.model.base import LibraryMode, Record
from kernelwright.model.clocks import Clocks


class Status(enum.StrEnum):
    """Outcome of an evaluation or of one case. The list is closed: a new outcome needs a new member."""

    PASSED = "passed"
    WRONG = "wrong"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    REJECTED = "rejected"
    NOT_VERIFIED = "not_verified"
    """Nothing failed, but this machine could not judge the values (see `CaseResult.reason`)."""


NEVER_EXERCISED = "never exercised: "
"""Begins what stands in `Evaluation.unjudged` because no judged case had more than one of it, and a stated case does.
"""

RAISES = "raises "
"""Begins what stands in `Evaluation.unjudged` because the candidate raises in other surroundings than the judged."""

LEFT_OUT = "left out: "
"""Begins what stands in `Evaluation.unjudged` because it breaks a rule and no case ran it: the judged text lacks it,
and the candidate's own file has it."""


class KernelResources(Record, frozen=True, kw_only=True):
    """Resources of one compiled kernel on a target. Registers are per thread, spills bytes per thread, shared memory
    bytes per block, occupancy the fraction of the multiprocessor's warp slots.

    moved_bytes: global memory that a thread loads and stores in the basic block that moves most, for a loop in one
    iteration. None if no thread moves global memory itself (as with bulk copies).
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
    """How much one framework operator takes of a call. operator: such as "aten.mm". calls: number of library steps.

    share: fraction of the time of a call; None if nothing was timed.
    """

    operator: str
    calls: int
    share: float | None


class Timing(Record, frozen=True, kw_only=True):
    """How long one call takes.

    kind "measured": device time with a cold cache, median over blocks, on the device that the environment names. In a
    race, times are scaled so that the incumbent has the time that it has in the run: times of two GPUs of one kind can
    then be compared. kind "estimate": a formula over resources (`roofline.estimate_us`), without interval and samples;
    nothing ran. call_us: host time of one synchronised call, launch overhead included; issue_us: host time to issue it.
    Both are None for a candidate that was dropped because it is slower than the best so far.
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
    """Factor by which measured times were multiplied: the incumbent's time in the request over its time in the same
    race. 1 for a candidate that was timed alone."""
    gained: bool | None = None
    """Whether the candidate was significantly faster than the incumbent of the request; None without an incumbent."""

    @property
    def clock_us(self) -> float:
        """The median as measured on its GPU, without `scale`."""
        return self.median_us / self.scale


ShownBy = Literal["declared", "refused", "wrong"]


class Property(Record, frozen=True, kw_only=True):
    """A property that the inputs of a candidate must have. An exported package calls PyTorch for other inputs.

    name: "dense" (contiguous, row-major, aligned to 16 bytes), "sized" (only some sizes). shown_by: a declaration of
    the candidate, a refusal by its host code, or wrong results for other inputs. detail: the message of the refusal, or
    what was wrong.
    """

    name: Literal["dense", "sized"]
    shown_by: ShownBy
    detail: str = ""


class CaseResult(Record, frozen=True, kw_only=True):
    """The result of one case. Errors are absolute, and relative to the output's scale (its largest magnitude in
    float64); allowed_rel_error is the limit of the tolerance policy for this case."""

    case: str
    status: Status
    reason: str = ""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    allowed_rel_error: float | None = None
    element_error: float | None = None
    """The largest error of an element, in units of the error that rounding explains there; None if not tested."""
    allowed_element_error: float | None = None
    unseen: tuple[str, ...] = ()
    """Input distributions that are not tested on this case because of its size, only on others."""
    timing: Timing | None = None
    library: tuple[LibraryShare, ...] = ()
    """The library steps of a call, by operator."""
    below_bound: str = ""
    """Remark on a time below the derived bound; the candidate was then verified again on all inputs."""
    serves: tuple[Property, ...] = ()
    """Properties that inputs must have, as found on this case; () if none was found."""


class Evaluation(Record, frozen=True, kw_only=True):
    """The worker's result for a candidate, also for one that failed.

    verified_on: "device" (values compared on the GPU that was timed), "interpreter" (Triton's CPU interpreter, small
    cases only: the logic is plausible), None (values never compared). score_us: geometric mean over the timed cases,
    None unless the status is passed; timing_kind: whether it was measured or estimated. kernels: resources of each
    distinct compiled kernel. compiled: hash over all of them and the shape of the launch plan; two candidates with the
    same hash count as the same. stages_s: seconds by stage.
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
    """By kernel, index of the config that was judged because the first ones need more resources than the device has
    and the candidate picks none."""
    stages_s: dict[str, float] = {}
    confinement: dict[str, str] = {}
    log: str = ""
    """The end of the candidate's printed output."""
    unqualified: str = ""
    """Why the problem cannot distinguish a kernel from a trivial answer, if the user continued anyway; else ""."""
    serves: tuple[Property, ...] = ()
    """Properties that inputs must have; () for any layout and alignment."""
    precision: Literal["ieee", "tf32"] = "ieee"
    """How the framework multiplied float32 as the baseline."""
    dead: tuple[str, ...] = ()
    """Parameters and buffers that no output depends on, such as "parameter conv.bias": a kernel may leave them out."""
    constant: tuple[str, ...] = ()
    """What no draw varied, such as "input mask" or "input scale = 0.5": a kernel may have it built in."""
    library: LibraryMode = "none"
    """Which library steps the problem allowed."""
    judged_source: str | None = None
    """The text that was judged if it is not the candidate's: with the config written into it, without host code that
    the kernels do not need, and with refusals in place of branches that no judged case took. Else None."""
    from_cache: bool = False
    """Whether this failure was found by an earlier run and not judged again."""
    killed: bool = False
    """Whether the candidate was not judged because compilers of it were killed, perhaps for want of memory. A resumed
    run judges it again."""
    gpu: str = ""
    """The UUID of the GPU that judged the candidate; "" without a GPU."""
    lane: str = ""
    """The lane that judged the candidate; "" with a single worker, and if it was not judged in this run."""
    unjudged: tuple[str, ...] = ()
    """What was not judged: branches of host code that no case took, as "line N: when it is taken", other configs of
    autotuned kernels, each with the reason, offsets that may overflow, and what was `NEVER_EXERCISED`."""

    @property
    def times_us(self) -> dict[str, float]:
        """The median by timed case."""
        return {result.case: result.timing.median_us for result in self.results if result.timing is not None}
