"""The verbs as functions, with their defaults: a worker on this machine, and messages to the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright.api.results import BenchResult, CheckResult, ProfileResult, VerifyResult, shown_as
from kernelwright.jobs import bench as bench_job
from kernelwright.jobs import check as check_job
from kernelwright.jobs import export as export_job
from kernelwright.jobs import profile as profile_job
from kernelwright.jobs import verify as verify_job
from kernelwright.jobs.bench import BenchSettings
from kernelwright.jobs.candidates import read_candidate
from kernelwright.jobs.export import Exported
from kernelwright.jobs.exportable import ExportSource
from kernelwright.jobs.worker import Notify, StartWorker, local_worker
from kernelwright.model import Candidate, LibraryMode, WhichCases
from kernelwright.source import apply_config

log: Notify = logging.getLogger("kernelwright").warning

AnyPath = str | os.PathLike[str]
"""A problem: a `Problem`, a file, a folder with `problem.py`, or a name in the gallery."""

AnyCandidate = Candidate | str | os.PathLike[str]
"""A candidate, its source (text of several lines), or the path of its file."""


def verify(
    problem: AnyPath,
    candidate: AnyCandidate,
    *,
    config: Mapping[str, int] | None = None,
    dtype: str | None = None,
    library: LibraryMode | None = None,
    which: WhichCases = "derived",
    unqualified: bool = False,
    target: str | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> VerifyResult:
    """Judge a candidate on every case, held-out ones too, and time nothing.

    library: which library steps candidates may hold ("none", "finish" or "any"), None for what the problem states.
    config: values of the candidate's tunables. dtype: of the full-size cases (torch's name), None for their own. which:
    "derived" to derive small and odd cases where the problem states none, "stated" for the stated ones only.
    unqualified: go on even if trivial answers solve the problem. target: compile target, only without a GPU. A
    candidate that fails is a result; raises `ProblemError` for the problem, `RequestError` for the candidate's file,
    `MachineError` where torch or Triton is missing.
    """
    found = verify_job.verify(
        os.fspath(problem), candidate_of(candidate, config), start_worker=start_worker, notify=notify, target=target,
        dtype=dtype, library=library, which=which, unqualified=unqualified,
    )  # fmt: skip
    return shown_as(VerifyResult, found)


def verify_all(
    problem: AnyPath,
    candidates: Sequence[AnyCandidate],
    *,
    dtype: str | None = None,
    library: LibraryMode | None = None,
    which: WhichCases = "derived",
    unqualified: bool = False,
    target: str | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> list[VerifyResult]:
    """`verify` for many candidates with one worker; the results are in the order of the candidates.

    A candidate that ends the worker is `crashed`, and the next one gets a new worker.
    """
    found = verify_job.verify_all(
        os.fspath(problem), [candidate_of(candidate) for candidate in candidates], start_worker=start_worker,
        notify=notify, target=target, dtype=dtype, library=library, which=which, unqualified=unqualified,
    )  # fmt: skip
    return [shown_as(VerifyResult, one) for one in found]


def check(
    problem: AnyPath,
    *,
    dtype: str | None = None,
    library: LibraryMode | None = None,
    which: WhichCases = "derived",
    target: str | None = None,
    start_worker: StartWorker = local_worker,
) -> CheckResult:
    """Whether a problem distinguishes a kernel from an answer that takes no computing, and the least time of each case.

    dtype: of the full-size cases (torch's name), None for their own. library, which: as for `verify`. target: compile
    target, only without a GPU. Raises `ProblemError` for a file that is no problem.
    """
    found = check_job.check(
        os.fspath(problem), start_worker=start_worker, target=target, dtype=dtype, library=library, which=which
    )
    return shown_as(CheckResult, found)


def bench(
    problem: AnyPath,
    candidates: Sequence[AnyPath] = (),
    *,
    cases: Sequence[str] = (),
    held_out: bool = True,
    compile: bool = True,
    max_autotune: bool = False,
    repeat: int = 1,
    dtype: str | None = None,
    library: LibraryMode | None = None,
    which: WhichCases = "derived",
    unqualified: bool = False,
    target: str | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> BenchResult:
    """Time eager PyTorch, `torch.compile`, the problem's starter and best kernel, and candidates, side by side.

    candidates: paths of Python files. cases: their names, () for all but the small ones. held_out: measure held-out
    cases too. compile, max_autotune: measure `torch.compile`, and its max-autotune mode (slow). repeat: number of
    measurements, each in new processes. which: as for `verify`. Without a GPU nothing is timed, and times are
    estimates. Raises `ProblemError` for the problem, `RequestError` for a candidate's file or a case that does not
    exist.
    """
    settings = BenchSettings(
        cases=tuple(cases), held_out=held_out, compile=compile, max_autotune=max_autotune, repeat=repeat, dtype=dtype,
        unqualified=unqualified, target=target, library=library, which=which,
    )  # fmt: skip
    files = [os.fspath(file) for file in candidates]
    report = bench_job.bench(os.fspath(problem), files, settings, start_worker=start_worker, notify=notify)
    return shown_as(BenchResult, report)


def profile(
    problem: AnyPath,
    candidate: AnyCandidate,
    *,
    config: Mapping[str, int] | None = None,
    cases: Sequence[str] = (),
    framework: bool = False,
    full: bool = False,
    dtype: str | None = None,
    library: LibraryMode | None = None,
    target: str | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> ProfileResult:
    """How far a candidate is from the bound, and what holds it back, with the evidence.

    cases: their names, () for the timed ones. framework: profile eager PyTorch and `torch.compile` too; raises
    `MachineError` without a GPU. full: every counter that the profiler has. library: as for `verify`. Raises
    `ProblemError` for the problem, `RequestError` for the candidate's file or a case that does not exist.
    """
    found = profile_job.profile(
        os.fspath(problem), candidate_of(candidate, config), start_worker=start_worker, notify=notify,
        cases=tuple(cases), framework=framework, full=full, target=target, dtype=dtype, library=library,
    )  # fmt: skip
    return shown_as(ProfileResult, found)


def export(
    what: AnyPath,
    *,
    problem: AnyPath | None = None,
    trial: int | None = None,
    config: Mapping[str, int] | None = None,
    format: str = export_job.PACKAGE,
    name: str | None = None,
    out: AnyPath | None = None,
    measure: bool | None = None,
    library: LibraryMode | None = None,
    unqualified: bool = False,
    target: str | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> Exported:
    """Write a kernel out for use elsewhere: as a package to install, or in another format.

    what: a run's folder or a `Run`, or a candidate's file, which needs its `problem` and is verified first. trial: of
    the run, None for its confirmed best. format: "op" for a package. name: the package's. out: the folder, None for
    exports/PROBLEM-FORMAT. measure: time the package here; None: where there is a GPU. library: for a candidate's
    file, as for `verify`. Raises `RequestError` for what cannot be exported, `MachineError` where it cannot be verified
    here.
    """
    source = ExportSource(
        os.fspath(what), text_of(problem), trial, dict(config or {}), name,
        library=library, unqualified=unqualified, target=target,
    )  # fmt: skip
    return export_job.export(
        source, start_worker=start_worker, notify=notify, format=format, out=text_of(out), measure=measure
    )


def candidate_of(given: AnyCandidate, config: Mapping[str, int] | None = None) -> Candidate:
    """Raises `RequestError` for a file that is not there, or a tunable that the source does not have."""
    if isinstance(given, Candidate):
        source = given.source
    elif isinstance(given, str) and "\n" in given:
        source = given
    else:
        return read_candidate(Path(given), config)
    chosen = {**(given.config if isinstance(given, Candidate) else {}), **(config or {})}
    if chosen:
        apply_config(source, chosen)
    return Candidate(source=source, config=chosen)


def text_of(path: AnyPath | None) -> str | None:
    return None if path is None else os.fspath(path)
