"""Reads a candidate from a file; starts a worker, loads a problem into it, and refuses a problem that trivial answers
solve.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelwright.codec import encode, plain
from kernelwright.errors import ProblemError, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import AS_KEPT, Candidate, Case, CaseInfo, Loading, ProblemInfo, TensorSpec
from kernelwright.problems import ProblemPath, find_problem, read_problem_text
from kernelwright.problems.text import states_cases
from kernelwright.source import apply_config
from kernelwright.source.merge import merged

log = logging.getLogger(__name__)

DERIVED: Loading = Loading(which="derived")
"""How a problem is loaded where its user asks for nothing else."""


def read_problem(problem: str | Path) -> ProblemPath:
    """Where the files of a problem are: a file, a folder with `problem.py`, or a name in the gallery.

    Raises `ProblemError` where there is none, or where its text cannot be a problem.
    """
    found = find_problem(str(problem))
    read_problem_text(found.file)
    return found


@contextmanager
def load_problem(
    problem: ProblemPath, desk: Desk, loading: Loading = AS_KEPT, cases: tuple[str, ...] = ()
) -> Iterator[tuple[Worker, ProblemInfo]]:
    """A new worker with the problem loaded, and what it found of the problem. The worker ends with the block.

    cases: names that the problem must have; raises `RequestError`.
    """
    with desk.worker() as worker:
        info = worker.load(str(problem.file), loading)
        known = [case.case.name for case in info.cases]
        if unknown := [name for name in cases if name not in known]:
            raise RequestError(f"{info.name} has no case {unknown[0]!r}", f"its cases: {', '.join(known)}")
        yield worker, info


@contextmanager
def load_qualified(
    problem: ProblemPath, name: str | Path, desk: Desk, loading: Loading = DERIVED, cases: tuple[str, ...] = ()
) -> Iterator[tuple[Worker, ProblemInfo]]:
    """Like `load_problem`; raises `ProblemError` where the problem does not qualify, unless `loading` allows it.

    name: the problem as the user named it, for messages.
    """
    with load_problem(problem, desk, loading, cases) as (worker, info):
        require_qualified(worker, name, desk.notify, loading.unqualified)
        yield worker, info


def require_verifiable(worker: Worker, info: ProblemInfo, problem: ProblemPath | None) -> None:
    """Raise `ProblemError` where this machine can verify no case of the loaded problem, with the lines to add.

    problem: where they go; None for the problem of a run that exists, which keeps its cases.
    """
    interpreted = [one for one in info.cases if one.case.small and not is_bfloat16(one)]
    if interpreted or worker.environment().device is not None:
        return
    why = info.left_alone.get("", "")
    small = [one.case.name for one in info.cases if one.case.small]
    lacks = f"only bfloat16 in the small case {small[0]}, which" if small else "no small case, and no other"
    raise ProblemError(
        f"nothing of {info.title} can be verified here: there is no GPU, and the problem has {lacks} runs on Triton's "
        f"CPU interpreter{': ' if why else ''}{why}",
        ELSEWHERE if problem is None else lines_to_add(info, problem),
    )


ELSEWHERE = "go on with it on a machine with a GPU, or give the problem a small case and begin a new run"


def is_bfloat16(info: CaseInfo) -> bool:
    """Whether a tensor of the case is, in which the interpreter computes wrongly."""
    tensors = [one for one in (*info.inputs, *info.outputs, *info.parameters.values()) if isinstance(one, TensorSpec)]
    return any(one.dtype == "bfloat16" for one in tensors)


SUGGESTED = 7
"""The size that replaces larger ones in a suggested small case."""


def lines_to_add(info: ProblemInfo, problem: ProblemPath) -> str:
    """A small case of the problem, as text for its file or its sidecar."""
    sizes = {name: SUGGESTED for name, value in info.numbers.items()
             if value > SUGGESTED and name not in info.left_alone}  # fmt: skip
    timed = next(one.case for one in info.cases if one.case.timed)
    small = Case(name="small", small=True, dtype="float32", params={**timed.params, **sizes})
    own = [one.case for one in info.cases if not (one.case.derived or one.case.small)]
    if states_cases(info.source):
        fields = {"name": "small", "dtype": "float32", "small": True, **small.params}
        return f"add to CASES in {problem.file}, with sizes that fit together: {fields!r}"
    sidecar = problem.file.with_suffix(".cases.json")
    text = encode({"cases": [without_defaults(case) for case in (*own, small)]}).decode()
    return f"write into {sidecar}, with sizes that fit together: {text}"


def without_defaults(case: Case) -> dict[str, Any]:
    """The fields of a case that differ from their defaults."""
    return {name: value for name, value in plain(case).items() if value not in (None, False, {})}


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
        notify(f"whether {name} distinguishes a kernel from a trivial answer was not judged here: {reasons}")


def read_candidate(file: str | Path, config: Mapping[str, int] | None = None) -> Candidate:
    """The candidate whose source is in `file`, with values for its tunables. What it uses of other modules of its
    package is copied into the source, and a warning says so.

    Source that does not parse is for the worker to judge, unless there is a config: a tunable that the source does not
    have raises `RequestError`, and so does a file that is missing or not UTF-8.
    """
    path = Path(file)
    if not path.is_file():
        raise RequestError(
            f"no candidate file at {str(file)!r}", "give the path of a Python file with ModelNew or kernel_function"
        )
    try:
        found = merged(path)
    except UnicodeDecodeError as error:
        raise RequestError(f"{file} is not text in UTF-8 (byte {error.start})", "give a Python file") from error
    if found.names:
        copied = "; ".join(f"{', '.join(names)} from {name}" for name, names in found.names.items())
        log.warning("%s: copied %s; in messages its lines after %d are %d higher", file, copied, found.line, found.more)
    if config:
        apply_config(found.text, config)
    return Candidate(source=found.text, config=dict(config or {}))
