"""Hand-made records for tests of views: a problem, environments, trials of a short run.

Not a fake of anything that computes (see fakes.py). The rule: plain arguments in, records out, no state.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from kernelwright.journal import Session
from kernelwright.model import (
    Bound,
    Budget,
    Candidate,
    Case,
    CaseInfo,
    CaseResult,
    Environment,
    Evaluation,
    KernelResources,
    Operator,
    ProblemInfo,
    Proposal,
    Request,
    RunInfo,
    RunSettings,
    Status,
    TensorSpec,
    Timing,
    Trial,
    Usage,
)
from kernelwright.report.view import RunView

SOURCE = """import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    pass


def kernel_function(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024, num_warps=4)
    return y
"""
BLOCK = "softmax_kernel.BLOCK"


def case_info(name: str, bound_us: float, small: bool = False, held_out: bool = False) -> CaseInfo:
    spec = TensorSpec(shape=(4096, 4096), dtype="bfloat16", stride=(4096, 1))
    return CaseInfo(
        case=Case(name=name, dtype="bfloat16", small=small, held_out=held_out),
        inputs=(spec,),
        outputs=(spec,),
        bytes=67108864,
        flop=16777216,
        bound=Bound(bound_us=bound_us, bound_by="bytes", bytes=67108864, flop=16777216, peaks="datasheet sm_90"),
    )


def problem_info() -> ProblemInfo:
    return ProblemInfo(
        name="softmax",
        format="native",
        source="# the problem\n",
        cases=(case_info("tiny", 0.1, small=True), case_info("square", 16.0), case_info("odd", 8.0, held_out=True)),
        docstring="Softmax over the last dimension.",
    )


def environment(device: str | None = None) -> Environment:
    return Environment(
        device=device,
        target="sm_90",
        python="3.11.7",
        torch="2.13.0",
        triton="3.7.1",
        driver="580.159" if device else None,
        kernelwright="0.1.0",
        date="2026-11-21",
        peaks={"copy_bytes_per_s": 4.28e12},
        peaks_source="measured" if device else "datasheet sm_90",
    )


def resources(registers: int = 40) -> KernelResources:
    return KernelResources(
        kernel="softmax_kernel",
        target="sm_90",
        registers=registers,
        spill_bytes=0,
        shared_bytes=2048,
        num_warps=4,
        num_stages=3,
        occupancy=0.75,
        limited_by="registers",
        cubin_sha="c0ffee",
    )


def passed(score_us: float, measured: bool = False, compiled: str = "one") -> Evaluation:
    timing = Timing(kind="measured" if measured else "estimate", median_us=score_us)
    return Evaluation(
        status=Status.PASSED,
        results=(
            CaseResult(case="tiny", status=Status.PASSED, max_abs_error=1e-7, max_rel_error=2e-7),
            CaseResult(case="square", status=Status.PASSED, timing=timing),
        ),
        verified_on="device" if measured else "interpreter",
        score_us=score_us,
        timing_kind=timing.kind,
        kernels=(resources(),),
        compiled=compiled,
        confinement={"network": "none", "gpu": "not visible"},
    )


def failed(status: Status = Status.WRONG, reason: str = "tiny: element (0, 3) is off by 0.5") -> Evaluation:
    return Evaluation(status=status, reason=reason, results=(CaseResult(case="tiny", status=status, reason=reason),))


def trial(
    number: int,
    evaluation: Evaluation | None,
    round: int = 1,
    operator: Operator = Operator.IMPROVE,
    parents: tuple[int, ...] = (0,),
    config: dict[str, int] | None = None,
    error: str | None = None,
    usage: Usage | None = None,
    prompt: str | None = None,
    reply: str | None = None,
) -> Trial:
    candidate = None if error else Candidate(source=f"{SOURCE}# trial {number}\n", config=config or {})
    return Trial(
        request=Request(
            number=number,
            operator=operator,
            round=round,
            parents=parents,
            candidate=candidate if operator is Operator.SEED else None,
        ),
        proposal=Proposal(
            author="starter" if operator is Operator.SEED else "builtin",
            candidate=candidate,
            error=error,
            usage=usage or Usage(),
            prompt=prompt,
            reply=reply,
            note=f"note {number}",
        ),
        evaluation=evaluation,
    )


def short_run(measured: bool = False) -> tuple[Trial, ...]:
    """A seed, two rounds: 40 us, then 30 and a wrong one, then its repair, a tie and a proposal that failed."""
    return (
        trial(0, passed(40.0, measured, "seed"), round=0, operator=Operator.SEED, parents=()),
        trial(1, passed(30.0, measured, "a"), config={BLOCK: 2048}),
        trial(2, failed()),
        trial(3, passed(32.0, measured, "b"), round=2, operator=Operator.REPAIR, parents=(2, 0)),
        trial(4, passed(25.0, measured, "c"), round=2, parents=(1,), config={BLOCK: 4096}),
        trial(5, None, round=2, parents=(1,), error="reply without code"),
    )


def run_view(
    trials: tuple[Trial, ...],
    confirmed: dict[int, Evaluation] | None = None,
    device: str | None = None,
    blobs: dict[str, str] | None = None,
    **settings: object,
) -> RunView:
    return RunView(
        folder=Path("runs/one"),
        info=run_info(device, **settings),
        trials=trials,
        confirmed=confirmed or {},
        open_requests=(),
        sessions=(Session(started="2026-11-21T10:00:00+00:00", budget=Budget(trials=6), seconds=12.5, reason="done"),),
        blob=(blobs or {}).__getitem__,
    )


def run_info(device: str | None = None, **settings: object) -> RunInfo:
    return RunInfo(
        schema_version=1,
        kernelwright="0.1.0",
        created="2026-11-21T10:00:00Z",
        settings=RunSettings(problem="softmax", **settings),  # type: ignore[arg-type]
        problem=msgspec.structs.replace(problem_info(), dtype=settings.get("dtype")),
        environment=environment(device),
        starter=Candidate(source=SOURCE),
        known=(),
    )
