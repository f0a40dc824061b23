"""What `export` was given, as a subject: a run's kernel with its confirmation, or a candidate's file, verified now.

The rule: nothing is exported that was not found right, and where it was found right goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kernelwright.cli import options
from kernelwright.cli.gate import pass_gate
from kernelwright.cli.output import note
from kernelwright.cli.parts import Parts
from kernelwright.errors import MachineError, RequestError
from kernelwright.model import BenchReport, Candidate, Environment, Evaluation, Status

if TYPE_CHECKING:
    from kernelwright.export.subject import Subject
    from kernelwright.problems import ProblemPath
    from kernelwright.report.view import RunView


class WrongCandidateError(Exception):
    """The candidate was judged and is not right; the text says why."""


@dataclass(frozen=True)
class Asked:
    """The words of the command line that say what to export."""

    what: str
    problem: str | None
    trial: int | None
    config: tuple[str, ...]
    name: str | None
    results: str | None
    unqualified: bool
    target: str | None


def subject_of(parts: Parts, asked: Asked) -> Subject:
    """Raises `WrongCandidateError` for a candidate that is not right, `RequestError` for what cannot be exported."""
    from kernelwright.journal import Journal
    from kernelwright.problems import find_problem, problem_in_run
    from kernelwright.report.view import read_run

    folder = Path(asked.what)
    if not folder.is_dir():
        if asked.problem is None or asked.trial is not None:
            raise RequestError(
                f"{asked.what} is no run's folder", "for a candidate's file, give --problem PROBLEM and no --trial"
            )
        candidate = options.candidate(asked.what, asked.config)
        return assembled(parts, asked, find_problem(asked.problem), candidate)
    if asked.problem is not None or asked.config or asked.unqualified:
        raise RequestError(
            f"{asked.what} is a run: it has its problem and config, and was allowed what it needed",
            "leave --problem, --config and --unqualified out",
        )
    with Journal.open(folder) as journal:
        view = read_run(journal)
        texts = {sha: view.blob(sha) for one in view.trials for sha in (one.proposal.prompt, one.proposal.reply) if sha}
    view = replace(view, blob=texts.__getitem__)
    number, candidate, evaluation = chosen(view, asked)
    known = (evaluation, view.info.environment)
    subject = assembled(parts, asked, problem_in_run(folder), candidate, known, view.info.settings.dtype)
    return replace(subject, run=view, trial=number)


def chosen(view: RunView, asked: Asked) -> tuple[int, Candidate, Evaluation]:
    """The trial that stands, or the one that was asked for, which has to have passed."""
    trial = view.best if asked.trial is None else next((t for t in view.trials if t.number == asked.trial), None)
    if trial is None:
        what = "no kernel stands in" if asked.trial is None else f"trial {asked.trial} is not in"
        raise RequestError(f"{what} {asked.what}", f"see `kernelwright show {asked.what}`, and name one with --trial N")
    evaluation = view.confirmed.get(trial.number, trial.evaluation)
    if trial.proposal.candidate is None or evaluation is None or evaluation.status is not Status.PASSED:
        raise RequestError(
            f"trial {trial.number} of {asked.what} did not pass", "only what was found right is exported"
        )
    if trial is not view.best:
        note(f"trial {trial.number} is not the kernel that stands in {asked.what}")
    return trial.number, trial.proposal.candidate, evaluation


def assembled(
    parts: Parts,
    asked: Asked,
    problem: ProblemPath,
    candidate: Candidate,
    known: tuple[Evaluation, Environment] | None = None,
    dtype: str | None = None,
) -> Subject:
    """known: how the candidate was judged, and where; None: it is verified now. dtype: that of the full-size cases in
    which it was judged; None: their own."""
    from kernelwright.export.names import identifier
    from kernelwright.export.subject import Subject
    from kernelwright.problems import read_problem_text

    text = read_problem_text(problem.file)
    with parts.start_worker(asked.target) as worker:
        info = worker.load(str(problem.file), dtype)
        if known is None:
            pass_gate(worker, asked.problem or problem.name, asked.unqualified)
            known = worker.evaluate(candidate, "verify"), worker.environment()
    evaluation, environment = known
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(f"{asked.what} could not be verified here: {evaluation.reason}", "export it on the GPU")
    if evaluation.status is not Status.PASSED:
        raise WrongCandidateError(f"{asked.what} is {evaluation.status.value}: {evaluation.reason}")
    return Subject(
        problem=info,
        problem_text=text,
        cases_text=problem.sidecar.read_text(encoding="utf-8-sig") if problem.sidecar is not None else None,
        candidate=candidate,
        evaluation=evaluation,
        environment=environment,
        dtype=dtype,
        package=asked.name or f"fast_{identifier(info.name)}",
        results=read_results(asked.results) if asked.results is not None else None,
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
