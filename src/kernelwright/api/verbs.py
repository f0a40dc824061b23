"""The functions of the Python API for single jobs. By default they start a worker on this machine and log messages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from kernelwright.api.keywords import AtDesk, Exporting, Judging, desk_of, loading_of, log, takes
from kernelwright.api.results import BenchResult, CheckResult, ProfileResult, VerifyResult, shown_as
from kernelwright.jobs import bench as bench_job
from kernelwright.jobs import check as check_job
from kernelwright.jobs import export as export_job
from kernelwright.jobs import profile as profile_job
from kernelwright.jobs import verify as verify_job
from kernelwright.jobs.bench import BenchSettings
from kernelwright.jobs.export import Exported
from kernelwright.jobs.exportable import ExportSource
from kernelwright.jobs.loading import read_candidate
from kernelwright.jobs.profile import ProfileSettings
from kernelwright.jobs.worker import Desk, StartWorker, local_worker
from kernelwright.model import Candidate, LibraryMode, Loading, WhichCases
from kernelwright.source import apply_config

AnyPath = str | os.PathLike[str]
"""A problem: a `Problem`, a file, a folder with `problem.py`, or a name in the gallery."""

AnyCandidate = Candidate | str | os.PathLike[str]
"""A candidate, its source (text of several lines), or the path of its file."""


@takes(Judging)
def verify(
    problem: AnyPath, candidate: AnyCandidate, *, config: Mapping[str, int] | None = None, **options: Unpack[Judging]
) -> VerifyResult:
    """Judge a candidate on every case, including held-out ones, without timing.

    library: which library steps candidates may use ("none", "finish" or "any"); None: as the problem states. config:
    values of the candidate's tunables. dtype: that all cases are cast to (torch's name); None: their own. which:
    "derived" to derive small and odd cases where the problem states none, "stated" for the stated ones only.
    unqualified: continue even if trivial answers solve the problem. target: compile target, only without a GPU. A
    failing candidate is a result, not an exception. Raises `ProblemError` for the problem, `RequestError` for the
    candidate's file, `MachineError` if torch or Triton is missing.
    """
    found = verify_job.verify(
        os.fspath(problem), candidate_of(candidate, config), loading_of(options), desk=desk_of(options)
    )
    return shown_as(VerifyResult, found)


@takes(Judging)
def verify_all(problem: AnyPath, candidates: Sequence[AnyCandidate], **options: Unpack[Judging]) -> list[VerifyResult]:
    """`verify` for many candidates with one worker; the results are in the order of the candidates.

    A candidate that kills the worker gets the status `crashed`, and a new worker is started for the next one.
    """
    judged = [candidate_of(candidate) for candidate in candidates]
    found = verify_job.verify_all(os.fspath(problem), judged, loading_of(options), desk=desk_of(options))
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
    """Whether a problem can distinguish a kernel from a trivial answer, and the bound of each case.

    dtype: that all cases are cast to (torch's name); None: their own. library, which: as for `verify`. target:
    compile target, only without a GPU. Raises `ProblemError` for a file that is not a problem.
    """
    loading = Loading(dtype=dtype, library=library, which=which)
    found = check_job.check(os.fspath(problem), loading, desk=Desk(log, start_worker, target=target))
    return shown_as(CheckResult, found)


@takes(Judging)
def bench(
    problem: AnyPath,
    candidates: Sequence[AnyPath] = (),
    *,
    cases: Sequence[str] = (),
    held_out: bool = True,
    compile: bool = True,
    max_autotune: bool = False,
    repeat: int = 1,
    **options: Unpack[Judging],
) -> BenchResult:
    """Time eager PyTorch, `torch.compile`, the problem's starter and best kernel, and candidates, side by side.

    candidates: paths of Python files. cases: names of cases, () for all but the small ones. held_out: also time
    held-out cases. compile, max_autotune: time `torch.compile`, and its max-autotune mode (slow). repeat: number of
    measurements, each in new processes. which: as for `verify`. Without a GPU nothing is timed, and times are
    estimates. Raises `ProblemError` for the problem, `RequestError` for a candidate's file or a case that does not
    exist.
    """
    settings = BenchSettings(
        cases=tuple(cases), held_out=held_out, compile=compile, max_autotune=max_autotune, repeat=repeat,
        loading=loading_of(options),
    )  # fmt: skip
    files = [os.fspath(file) for file in candidates]
    report = bench_job.bench(os.fspath(problem), files, settings, desk=desk_of(options))
    return shown_as(BenchResult, report)


@takes(AtDesk)
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
    **options: Unpack[AtDesk],
) -> ProfileResult:
    """Profile a candidate: its distance to the bound, and its bottleneck with evidence.

    cases: names of cases, () for the timed ones. framework: also profile eager PyTorch and `torch.compile`; raises
    `MachineError` without a GPU. full: every counter that the profiler has. library: as for `verify`. Raises
    `ProblemError` for the problem, `RequestError` for the candidate's file or a case that does not exist.
    """
    settings = ProfileSettings(tuple(cases), framework, full, Loading(dtype=dtype, library=library))
    found = profile_job.profile(os.fspath(problem), candidate_of(candidate, config), settings, desk=desk_of(options))
    return shown_as(ProfileResult, found)


@takes(Exporting)
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
    **options: Unpack[Exporting],
) -> Exported:
    """Export a kernel as a package to install, or in another format.

    what: a run's folder, a `Run`, or a candidate's file, which needs its `problem` and is verified first. trial: number
    of a trial of the run; None: its confirmed best. format: "op" for a package. name: the package's name. out: the
    folder; None: exports/PROBLEM-FORMAT. measure: time the package here; None: if there is a GPU. library: for a
    candidate's file, as for `verify`. Raises `RequestError` if the kernel cannot be exported, `MachineError` if this
    machine cannot verify it.
    """
    source = ExportSource(
        os.fspath(what), text_of(problem), trial, dict(config or {}), name, loading=loading_of(options)
    )
    return export_job.export(source, desk=desk_of(options), format=format, out=text_of(out), measure=measure)


def candidate_of(given: AnyCandidate, config: Mapping[str, int] | None = None) -> Candidate:
    """The candidate with `config` merged into its own. Raises `RequestError` for a missing file or unknown tunable."""
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
