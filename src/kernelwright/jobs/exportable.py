"""Reads the kernel that `export` was asked for: a run's confirmed kernel, or a candidate's file, which is verified
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from kernelwright.errors import MachineError, RequestError
from kernelwright.export.exporters import EXPORTERS
from kernelwright.export.names import identifier
from kernelwright.export.subject import Subject
from kernelwright.jobs.loading import DERIVED, load_problem, load_qualified, read_candidate
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.journal import Journal
from kernelwright.model import BenchReport, Candidate, Environment, Evaluation, Loading, ProblemInfo, Status
from kernelwright.problems import ProblemPath, find_problem, problem_in_run, read_problem_text
from kernelwright.report.view import RunView, read_run


class WrongCandidateError(Exception):
    """The candidate was judged and is not right; the text says why."""


@dataclass(frozen=True)
class ExportSource:
    """What to export.

    what: a run's folder, or a candidate's file, which needs `problem` and may have a `config` and a `loading`. trial:
    of the run, None for its confirmed best. name: the package's. results: FILE or FILE:ROW of a bench report.
    """

    what: str | Path
    problem: str | Path | None = None
    trial: int | None = None
    config: Mapping[str, int] = field(default_factory=dict)
    name: str | None = None
    results: str | None = None
    loading: Loading = DERIVED


def read_subject(source: ExportSource, desk: Desk) -> Subject:
    """Raises `WrongCandidateError` for a candidate that is not right, `RequestError` for what cannot be exported."""
    if Path(source.what).is_dir():
        return run_subject(source, desk)
    return candidate_subject(source, desk)


def candidate_subject(source: ExportSource, desk: Desk) -> Subject:
    """A candidate's file, verified on every case."""
    if source.problem is None or source.trial is not None:
        raise RequestError(
            f"{source.what} is no run's folder", "for a candidate's file, give --problem PROBLEM and no --trial"
        )
    candidate = read_candidate(source.what, source.config)
    found = find_problem(str(source.problem))
    text = read_problem_text(found.file)
    with load_qualified(found, source.problem, desk, source.loading) as (worker, info):
        evaluation, environment = worker.evaluate(candidate, "verify"), worker.environment()
    return assemble(source, found, text, info, candidate, evaluation, environment)


def run_subject(source: ExportSource, desk: Desk) -> Subject:
    """A run's kernel, judged as its journal says. A worker only reads the problem, in the run's dtype."""
    folder = Path(source.what)
    if source.problem is not None or source.config or source.loading != DERIVED:
        raise RequestError(
            f"{source.what} is a run: it has its problem and config, and was allowed what it needed",
            "leave --problem, --config, --library, --dtype and --unqualified out",
        )
    with Journal.open(folder) as journal:
        view = read_run(journal)
        texts = {sha: view.blob(sha) for one in view.trials for sha in (one.proposal.prompt, one.proposal.reply) if sha}
    view = replace(view, blob=texts.__getitem__)
    number, candidate, evaluation = choose_trial(view, source, desk.notify)
    found = problem_in_run(folder)
    text = read_problem_text(found.file)
    loading = Loading(dtype=view.info.settings.dtype, library=view.info.problem.library)
    with load_problem(found, desk, loading) as (_, info):
        pass
    subject = assemble(source, found, text, info, candidate, evaluation, view.info.environment)
    return replace(subject, run=view, trial=number)


PACKAGE = "op"
"""The format that is a package of Python: it measures and checks itself."""


def why_no_package(view: RunView) -> str:
    """Why `export` refuses a package of the run's confirmed kernel; "" where it makes one. Nothing is written or
    run."""
    source = ExportSource(view.folder)
    try:
        _, candidate, evaluation = choose_trial(view, source, notify=lambda note: None)
        found = problem_in_run(view.folder)
        text = read_problem_text(found.file)
        subject = assemble(source, found, text, view.info.problem, candidate, evaluation, view.info.environment)
        EXPORTERS[PACKAGE].files(subject)
    except (RequestError, MachineError) as refused:
        return str(refused)
    return ""


def choose_trial(view: RunView, source: ExportSource, notify: Notify) -> tuple[int, Candidate, Evaluation]:
    """The confirmed best trial, or the requested one, which must have passed."""
    trial = view.best if source.trial is None else next((t for t in view.trials if t.number == source.trial), None)
    if trial is None:
        what = "no confirmed kernel is in" if source.trial is None else f"trial {source.trial} is not in"
        raise RequestError(
            f"{what} {source.what}", f"see `kernelwright show {source.what}`, and name one with --trial N"
        )
    evaluation = view.confirmed.get(trial.number, trial.evaluation)
    if trial.proposal.candidate is None or evaluation is None or evaluation.status is not Status.PASSED:
        raise RequestError(
            f"trial {trial.number} of {source.what} did not pass", "only a kernel that passed is exported"
        )
    if trial is not view.best:
        notify(f"trial {trial.number} is not the confirmed best of {source.what}")
    return trial.number, trial.proposal.candidate, evaluation


def assemble(
    source: ExportSource,
    problem: ProblemPath,
    text: str,
    info: ProblemInfo,
    candidate: Candidate,
    evaluation: Evaluation,
    environment: Environment,
) -> Subject:
    """text: of the problem's file. evaluation: how the candidate was judged, on `environment`."""
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(f"{source.what} could not be verified here: {evaluation.reason}", "export it on the GPU")
    if evaluation.status is not Status.PASSED:
        raise WrongCandidateError(f"{source.what} is {evaluation.status.value}: {evaluation.reason}")
    return Subject(
        problem=info,
        problem_text=text,
        cases_text=problem.sidecar.read_text(encoding="utf-8-sig") if problem.sidecar is not None else None,
        candidate=candidate,
        evaluation=evaluation,
        environment=environment,
        package=source.name or f"fast_{identifier(info.name)}",
        results=read_results(source.results) if source.results is not None else None,
        beside={one.relative_to(problem.file.parent).as_posix(): one.read_bytes() for one in problem.beside},
    )


def read_results(given: str) -> tuple[BenchReport, str]:
    """FILE or FILE:ROW as the report and the kernel's row in it."""
    file, _, row = given.partition(":") if not Path(given).is_file() else (given, "", "")
    try:
        report = msgspec.json.decode(Path(file).read_bytes(), type=BenchReport)
    except OSError as error:
        raise RequestError(
            f"--results {given} cannot be read: {error.strerror}", "give a file of bench --json"
        ) from error
    except msgspec.DecodeError as error:
        raise RequestError(f"--results {file} is no bench report: {error}", "give a file of bench --json") from error
    row = row or "best"
    rows = {one.name for case in report.cases for one in case.implementations}
    if row not in rows:
        raise RequestError(
            f"--results {file} has no row {row!r}", f"write {file}:ROW with one of {', '.join(sorted(rows))}"
        )
    return report, row
