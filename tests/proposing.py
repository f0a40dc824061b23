"""What tests of proposers need around them: a tunable kernel, a context with blobs, a finished trial.

Not a proposer. The rule: plain arguments in, records out; the blobs are a dict that the test may look into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from fakes import ENVIRONMENT, PROBLEM
from kernelwright.codec import sha
from kernelwright.model import (
    Candidate,
    CaseResult,
    Environment,
    Evaluation,
    Operator,
    ProblemInfo,
    Profile,
    Proposal,
    Request,
    Status,
    Timing,
    Trial,
)
from kernelwright.propose import Context

KERNEL = """\
import torch
import triton
import triton.language as tl
from triton.language import dot as product

BLOCK = 256


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        product(mask, mask)  # loads beside a product have stages
        tl.store(y + offsets, 2 * tl.load(x + offsets, mask=mask), mask=mask)


def kernel_function(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK, num_warps=4)
    return y
"""
OTHER = KERNEL.replace("2 * tl.load", "tl.load(x + offsets, mask=mask) + tl.load")
REPLY = f"Note: a wider block.\n\n```python\n{KERNEL.replace('BLOCK = 256', 'BLOCK = 1024')}```\n"


class Blobs(dict[str, str]):
    def put(self, text: str) -> str:
        self[sha(text)] = text
        return sha(text)


def context(
    *trials: Trial,
    folder: Path = Path("nowhere"),
    in_flight: tuple[Candidate, ...] = (),
    seed: int = 0,
    problem: ProblemInfo = PROBLEM,
    environment: Environment = ENVIRONMENT,
    blobs: Blobs | None = None,
    profiles: Mapping[int, tuple[Profile, ...]] | None = None,
    siblings: int = 0,
) -> Context:
    kept = Blobs() if blobs is None else blobs
    return Context(
        problem=problem,
        environment=environment,
        trials=trials,
        in_flight=in_flight,
        seed=seed,
        folder=folder,
        put_blob=kept.put,
        blob=kept.__getitem__,
        profiles=profiles or {},
        siblings=siblings,
    )


def asked_for(prompt: str) -> str:
    """The kind of exchange that a prompt begins."""
    headings = {"# Why was trial": "reflect", "# Plan first": "plan", "# Your diff": "mend"}
    return next((kind for heading, kind in headings.items() if f"\n{heading}" in f"\n{prompt}"), "kernel")


def passed(score_us: float, kind: str = "measured") -> Evaluation:
    timing = Timing(kind="estimate" if kind == "estimate" else "measured", median_us=score_us)
    return Evaluation(
        status=Status.PASSED,
        results=(
            CaseResult(case="small", status=Status.PASSED, max_rel_error=1e-7),
            CaseResult(case="big", status=Status.PASSED, timing=timing),
        ),
        verified_on="device",
        score_us=score_us,
        timing_kind=timing.kind,
        compiled=f"{score_us}",
    )


def failed(status: Status = Status.WRONG, reason: str = "small: element (0, 3) is off by 0.5") -> Evaluation:
    return Evaluation(status=status, reason=reason)


def trial(
    number: int,
    source: str | None = KERNEL,
    config: dict[str, int] | None = None,
    evaluation: Evaluation | None = None,
    operator: Operator = Operator.IMPROVE,
    parents: tuple[int, ...] = (),
    note: str = "",
    error: str = "the reply has no fenced Python block",
    given: bool = False,
) -> Trial:
    """given: the request carried the candidate, as for a starter. source None: a proposal that was an error."""
    candidate = Candidate(source=source, config=config or {}) if source is not None else None
    return Trial(
        request=Request(number=number, operator=operator, parents=parents, candidate=candidate if given else None),
        proposal=Proposal(
            author="starter" if given else "test", candidate=candidate, error=None if candidate else error, note=note
        ),
        evaluation=evaluation or (passed(100.0) if candidate else None),
    )


def starter(evaluation: Evaluation | None = None, source: str = KERNEL) -> Trial:
    return trial(0, source, operator=Operator.SEED, given=True, evaluation=evaluation)


def search(
    propose: Callable[[Request, Context], Proposal | None],
    measure: Callable[[dict[str, int]], float | None],
    requests: int,
    source: str = KERNEL,
    seed: int = 0,
) -> list[Trial]:
    """Improve the best so far, `requests` times; measure gives the time of a config, None where it fails."""

    def evaluated(config: dict[str, int]) -> Evaluation:
        time_us = measure(config)
        return failed() if time_us is None else passed(time_us)

    trials = [trial(0, source, operator=Operator.SEED, given=True, evaluation=evaluated({}))]
    for number in range(1, requests + 1):
        best = min(trials, key=lambda one: (one.score_us is None, one.score_us, one.number))
        request = Request(number=number, operator=Operator.IMPROVE, parents=(best.number,))
        proposal = propose(request, context(*trials, seed=seed))
        assert proposal is not None
        evaluation = evaluated(proposal.candidate.config) if proposal.candidate else None
        trials.append(Trial(request=request, proposal=proposal, evaluation=evaluation))
    return trials
