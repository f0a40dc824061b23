"""Starts a worker, loads a problem into it, and refuses a problem that trivial answers solve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelwright.errors import ProblemError, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import Notify, StartWorker
from kernelwright.model import ProblemInfo
from kernelwright.problems import ProblemPath, find_problem, read_problem_text


def read_problem(problem: str | Path) -> ProblemPath:
    """Where the files of a problem are: a file, a folder with `problem.py`, or a name in `./gallery`.

    Raises `ProblemError` where there is none, or where its text cannot be a problem.
    """
    found = find_problem(str(problem))
    read_problem_text(found.file)
    return found


@contextmanager
def load_problem(
    problem: ProblemPath,
    *,
    start_worker: StartWorker,
    target: str | None = None,
    dtype: str | None = None,
    cases: tuple[str, ...] = (),
) -> Iterator[tuple[Worker, ProblemInfo]]:
    """A new worker with the problem loaded, and what it found of the problem. The worker ends with the block.

    dtype: of the full-size cases, None for their own. cases: names that the problem must have; raises `RequestError`.
    """
    with start_worker(target) as worker:
        info = worker.load(str(problem.file), dtype)
        require_cases(info, cases)
        yield worker, info


@contextmanager
def load_qualified(
    problem: ProblemPath,
    name: str | Path,
    *,
    start_worker: StartWorker,
    notify: Notify,
    target: str | None = None,
    dtype: str | None = None,
    cases: tuple[str, ...] = (),
    unqualified: bool = False,
) -> Iterator[tuple[Worker, ProblemInfo]]:
    """Like `load_problem`; raises `ProblemError` where the problem does not qualify, unless `unqualified` allows it.

    name: the problem as the user named it, for messages.
    """
    with load_problem(problem, start_worker=start_worker, target=target, dtype=dtype, cases=cases) as (worker, info):
        require_qualified(worker, name, notify, unqualified)
        yield worker, info


def require_cases(info: ProblemInfo, cases: tuple[str, ...]) -> None:
    """Raise `RequestError` for a case that the problem does not have."""
    known = [case.case.name for case in info.cases]
    for name in cases:
        if name not in known:
            raise RequestError(f"{info.name} has no case {name!r}", f"its cases: {', '.join(known)}")


def require_qualified(worker: Worker, name: str | Path, notify: Notify, unqualified: bool = False) -> None:
    """Raise `ProblemError` where the loaded problem does not qualify, unless `unqualified` allows it.

    name: the problem as the user named it. What was allowed or could not be judged here goes to `notify`.
    """
    report = worker.qualify()
    if report.qualifies is False:
        if not unqualified:
            raise ProblemError(
                f"{name} does not qualify: {report.reason}",
                f"draw its inputs so that both signs and all of them count (torch.randn); kernelwright check {name} "
                "shows more, --unqualified goes on all the same",
            )
        notify(f"going on although {name} does not qualify: {report.reason}")
    elif report.qualifies is None:
        reasons = "; ".join(sorted(set(report.not_judged.values())))
        notify(f"whether {name} tells a kernel from a trivial answer was not judged here: {reasons}")
