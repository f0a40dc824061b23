"""Whether a search can begin with the kernels that torch.compile generates for its problem; checked before a run
begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.errors import NothingToWin, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.inductor import LeaveIt, NotConverted, can_split, candidate_text
from kernelwright.jobs.worker import Notify
from kernelwright.model import Generated, KnownKernel, LibraryMode, ProblemInfo, Status
from kernelwright.problems import ProblemPath
from kernelwright.report.tried import newer_text
from kernelwright.text.units import times_text

WORTH = 1.1
"""Speedup over PyTorch that a known kernel must have had for the search not to give up in favour of a library call."""


def require_generated(
    worker: Worker, info: ProblemInfo, problem: ProblemPath, known: Sequence[KnownKernel], notify: Notify
) -> None:
    """Raise `RequestError` where what torch.compile generates for the loaded problem cannot become a candidate, and
    `NothingToWin` where the library call is the computation and no known kernel was faster than it elsewhere."""
    generated, environment = worker.generate(), worker.environment()
    try:
        candidate_text(generated, info.library, can_split(environment))
    except LeaveIt as reason:
        if not (faster := faster_known(worker, known)):
            elsewhere = only_on_a_gpu(generated, info.library) if environment.device is None else ""
            raise NothingToWin(f"{info.title}: {reason}{elsewhere}{best_known(known)}") from reason
        notify(f"{reason}; but {faster}, so the search begins with that")
    except NotConverted as reason:
        newer = f"; {text}" if (text := newer_text(environment)) else ""
        lacks = "" if problem.starter is not None else f"{problem.name} has no starter.py beside it, and "
        raise RequestError(
            f"{lacks}what torch.compile generates for it cannot become a candidate: {reason}{newer}",
            "give a kernel with --starter FILE, or let a model write it: --proposer anthropic, openai or mailbox",
        ) from reason


def only_on_a_gpu(generated: Generated, library: LibraryMode) -> str:
    """What is said of a problem that is left without a GPU only."""
    try:
        candidate_text(generated, library, split=True)
    except NotConverted:
        return ""
    return ", as far as can be judged here: on a GPU a kernel with float32 products in TF32 parts is tried"


def best_known(known: Sequence[KnownKernel]) -> str:
    """What is said of known kernels none of which is worth a search."""
    ratios = [one.ratio for one in known if one.ratio is not None]
    return f"; the best known kernel was {times_text(max(ratios))} as fast where it was measured" if ratios else ""


def faster_known(worker: Worker, known: Sequence[KnownKernel]) -> str:
    """The first known kernel that beat the framework where it was measured, and is right for the loaded problem, with
    its ratio there; "" where there is none."""
    for one in known:
        if one.ratio is None or one.ratio < WORTH:
            continue
        if worker.evaluate(one.candidate, "verify").status in (Status.PASSED, Status.NOT_VERIFIED):
            return f"{one.origin} was {times_text(one.ratio)} as fast where it was measured"
    return ""
