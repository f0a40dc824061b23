"""Whether a search can begin with the kernels that torch.compile generates for its problem, and in which library mode;
decided before a run begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from kernelwright.errors import NothingToWin, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.inductor import NotConverted, can_split, candidate_text, library_call
from kernelwright.jobs.worker import Notify
from kernelwright.model import KnownKernel, LibraryMode, ProblemInfo, Status
from kernelwright.problems import ProblemPath
from kernelwright.report.evaluation import newer_text
from kernelwright.text.units import time_text, times_text

LEFT = 0.85
"""Share of the bound from which on a library call is left: at most 18 % is to be gained. On an H200 kernels of this
project reach 0.85 to 0.97 of the bound of large tensors (docs/gallery.md)."""

WORTH = 1.1
"""Speedup over PyTorch that a known kernel must have had for the search not to give up in favour of a library call."""


def mode_to_begin_in(
    worker: Worker, info: ProblemInfo, problem: ProblemPath, known: Sequence[KnownKernel], notify: Notify
) -> LibraryMode:
    """The library mode of the search: the loaded problem's, or `any` where nobody stated a mode and the first kernel
    needs library calls.

    Raises `RequestError` where what torch.compile generates cannot become a candidate, and `NothingToWin` where
    PyTorch's library call is the computation and takes little longer than the bound. A library call is timed first,
    where there is a GPU. A known kernel that was faster elsewhere begins the search in both cases."""
    generated, environment = worker.generate(), worker.environment()
    call = None
    try:
        if (call := library_call(generated)) is not None:
            least, said = timed_call(worker, info, call)
            if least is not None and least >= LEFT:
                if not (faster := faster_known(worker, known)):
                    raise NothingToWin(f"{info.title}: leave it: {said}{best_known(known)}")
                notify(f"{said}; but {faster}, so the search begins with that")
                return info.library
            notify(f"{said}: the search runs")
        candidate_text(generated, info.library, can_split(environment))
    except NotConverted as reason:
        if call is not None and (faster := faster_known(worker, known)):
            notify(f"{reason}; but {faster}, so the search begins with that")
            return info.library
        if not (info.is_library_stated or info.library == "any"):
            with suppress(NotConverted):
                candidate_text(generated, "any", can_split(environment))
                notify(f"there is no first kernel without library calls: {reason}; the search allows them (mode any)")
                return "any"
        newer = f"; {text}" if (text := newer_text(environment)) else ""
        lacks = "" if problem.starter is not None else f"{problem.name} has no starter.py beside it, and "
        raise RequestError(
            f"{lacks}what torch.compile generates for it cannot become a candidate: {reason}{newer}",
            "give a kernel with --starter FILE, or let a model write it: --proposer anthropic, openai or mailbox",
        ) from reason
    return info.library


def timed_call(worker: Worker, info: ProblemInfo, call: str) -> tuple[float | None, str]:
    """The smallest share of the bound that eager PyTorch reaches on a timed case, with the figures of that case in
    words; None where a case was not timed. call: the library call, in words."""
    if worker.environment().device is None:
        return None, f"{call}; it is not timed without a GPU"
    report = worker.bench({}, tuple(one.case.name for one in info.cases if one.case.timed), compile=False)
    eager = [(case, row) for case in report.cases for row in case.implementations if row.name == "eager"]
    timed = [(case.bound_us / row.median_us, row.median_us, case) for case, row in eager if row.median_us is not None]
    if len(timed) < len(eager) or not timed:
        reasons = "; ".join(row.reason for _, row in eager if row.median_us is None)
        return None, f"{call}; PyTorch was not timed: {reasons}"
    share, time_us, case = min(timed, key=lambda one: one[0])
    where = f" on {case.case}" if len(timed) > 1 else ""
    took, least = time_text(time_us, "measured"), time_text(case.bound_us, None)
    return share, f"{call}; PyTorch takes {took}{where} where the bound is {least}, {100 * share:.1f} % of it"


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
