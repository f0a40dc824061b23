"""Begins a run or opens one again, with its journal, its budget and a worker that has its problem loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelwright import __version__
from kernelwright.errors import MachineError, RequestError, RunFolderError
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import fresh_folder, refuse_links
from kernelwright.jobs.consent import path_wishes, settle, typed_as, typed_words, wishes_of, worker_wishes
from kernelwright.jobs.generated import mode_to_begin_in
from kernelwright.jobs.known import known_kernels
from kernelwright.jobs.loading import read_candidate, read_problem, require_qualified, require_verifiable
from kernelwright.jobs.settings import DEFAULTS, NO_LIMITS, NO_OPTIONS, SettingsFile, merge, settings_from
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.journal import NAME, SCHEMA_VERSION, Journal
from kernelwright.model import (
    Budget,
    Candidate,
    KnownKernel,
    Loading,
    ProblemInfo,
    RunInfo,
    RunOptions,
    RunSettings,
    titled,
)
from kernelwright.problems import ProblemPath, copy_problem, problem_in_run
from kernelwright.problems.alike import described
from kernelwright.propose import build_proposer, require_askable
from kernelwright.report.evaluation import newer_text
from kernelwright.run import resume as end_pause
from kernelwright.search import build_strategy

STARTING = "waiting for a worker"
READING = "the problem is read, and the cases that it lacks are derived"
GENERATING = "torch.compile generates the text of its kernels"
QUALIFYING = "trivial answers are judged on its cases"
"""A line for each stage before the search; each may take many seconds."""


class OpenRun(NamedTuple):
    """A run with a worker. budget: the limits of its next session."""

    journal: Journal
    worker: Worker
    budget: Budget


@dataclass(frozen=True)
class NewRun:
    """A run that is about to begin. starter: None where the proposer writes the first kernel. out: its folder; None: a
    new one under ./runs."""

    settings: RunSettings
    problem: ProblemPath
    starter: Candidate | None
    out: str | None
    desk: Desk


def new_run(given: RunOptions, file: SettingsFile, desk: Desk, variables: Mapping[str, str] = os.environ) -> NewRun:
    """The run that these options and a settings file describe. Every error that needs no worker is raised here.

    desk: its worker is started where the options name a place or a target, and else there. variables: the environment,
    which has the keys.
    """
    merged = merge(given, file.options)
    settings = settings_from(merged)
    if settings.no_source and settings.lessons is not None:
        raise RequestError(
            "lessons may name a problem, and --no-source is to send nothing of it", "leave --lessons or --no-source out"
        )
    wishes = [*wishes_of(settings), *path_wishes(file.options, merged), *worker_wishes(merged.workers)]
    near = (file.path.resolve().parent, Path.cwd())
    settle(wishes, typed_words(given), str(file.path), desk, near)
    desk, merged = on_lanes(desk, merged)
    settings = settings_from(merged)
    problem = read_problem(settings.problem)
    if settings.proposer == "builtin" and settings.starter is None and problem.starter is None:
        settings = msgspec.structs.replace(settings, proposer="inductor")
    starter = read_starter(problem, settings.starter, settings.proposer)
    build_strategy(settings.strategy, starter, settings.seed, settings.strategy_options)
    build_proposer(settings.proposer, settings.proposer_options, variables).close()
    if merged.out is not None and (Path(merged.out) / NAME).exists():
        raise RunFolderError(
            f"{merged.out} already holds a run", f"go on with it: --resume {merged.out}, or name another"
        )
    return NewRun(settings, problem, starter, merged.out, replace(desk, target=merged.target))


@contextmanager
def begin(run: NewRun, is_asked: bool = True) -> Iterator[OpenRun]:
    """Start a worker, load the problem, and begin the run in its folder, which gets a copy of the problem.

    Raises `ProblemError` for a problem that does not qualify, `MachineError` where torch or Triton is missing, and what
    `mode_to_begin_in` raises where the first kernel is to be what torch.compile generates. First of all a model is
    asked for (`require_askable`), unless `is_asked` is false.
    """
    if is_asked:
        require_askable(run.settings.proposer, run.settings.proposer_options, run.settings.budget.usd)
    notify = run.desk.notify
    notify(f"{titled(run.problem.name, run.settings.dtype)}: {STARTING}")
    with run.desk.worker() as worker:
        notify(READING)
        problem = load(worker, run)
        require_verifiable(worker, problem, run.problem)
        known = find_known(worker, run, problem)
        if run.settings.proposer == "inductor" and run.starter is None:  # first, because it needs no GPU
            notify(GENERATING)
            mode = mode_to_begin_in(worker, problem, run.problem, known, notify)
            if mode != problem.library:
                run = replace(run, settings=msgspec.structs.replace(run.settings, library=mode))
                problem = load(worker, run)
        for one in known:
            notify(f"known kernel, from {one.origin}: for the same operators, judged after the starter")
        say_environment(worker, notify)  # only now: without a GPU it waits for the import of a second fork server
        notify(QUALIFYING)
        require_qualified(worker, run.settings.problem, notify, run.settings.unqualified)
        now = datetime.now(UTC)
        info = RunInfo(
            schema_version=SCHEMA_VERSION,
            kernelwright=__version__,
            created=now.isoformat(timespec="seconds"),
            settings=run.settings,
            problem=problem,
            environment=worker.environment(),
            starter=run.starter,
            known=known,
        )
        if run.out is not None:
            folder = Path(run.out)
        else:
            folder = fresh_folder(Path("runs"), f"{run.problem.name}-{now:%Y%m%d-%H%M%S}")
        cases = [one.case for one in problem.cases]
        with Journal.create(folder, info, lambda: copy_problem(run.problem, folder, cases)) as journal:
            yield OpenRun(journal, worker, run.settings.budget)


def on_lanes(desk: Desk, options: RunOptions) -> tuple[Desk, RunOptions]:
    """The desk of a session with these options, and the options of its runs: without GPUs
    and workers, and with enough candidates in flight for all lanes."""
    desk, lanes = desk.on_lanes(options.gpus, options.workers)
    in_flight = options.in_flight or (DEFAULTS.in_flight * lanes if lanes > 1 else None)
    return desk, msgspec.structs.replace(options, gpus=None, workers=None, in_flight=in_flight)


def say_environment(worker: Worker, notify: Notify) -> None:
    """Say which of torch and Triton is newer than those tried, and what of the sandbox is in force. Raises
    `MachineError` where no candidate may run."""
    environment = worker.environment()
    if newer := newer_text(environment):
        notify(newer)
    if environment.refusal:
        raise MachineError(environment.refusal)
    if environment.sandbox:
        notify(f"sandbox: {environment.sandbox}")


def load(worker: Worker, run: NewRun) -> ProblemInfo:
    return worker.load(str(run.problem.file), run.settings.loading)


def find_known(worker: Worker, run: NewRun, problem: ProblemInfo) -> tuple[KnownKernel, ...]:
    """The known kernels that a run begins with. Its problem is loaded before and after."""
    if run.settings.no_known:
        return ()
    others = 0

    def operators(other: ProblemPath) -> tuple[str, ...]:
        nonlocal others
        others += 1
        return described(worker.load(str(other.file), Loading(which="stated")))

    named = Path(run.settings.known) if run.settings.known is not None else None
    try:
        return known_kernels(problem, run.problem, run.starter, named, operators, run.desk.notify)
    finally:
        if others:
            load(worker, run)


@contextmanager
def reopen(
    folder: Path, limits: Budget = NO_LIMITS, *, agreed: RunOptions = NO_OPTIONS, desk: Desk
) -> Iterator[OpenRun]:
    """Open a run that began before, here or elsewhere, and end its pause.

    limits: in place of the run's own, where given. agreed: options of the run that the user gives again to consent to
    them (`consent`); they change nothing. Without a target of the desk the run's is taken. Raises `RunFolderError`
    where the run's copy of the problem was changed, `ProblemError` where this machine can verify nothing of it.
    """
    if folder.is_dir():
        refuse_links(folder)
    with Journal.open(folder, writable=True) as journal:
        info = journal.info
        agree_to(info.settings, folder, agreed, desk)
        build_proposer(info.settings.proposer, info.settings.proposer_options).close()
        sessions = journal.sessions()
        budget = (sessions[-1].budget if sessions else info.settings.budget).replaced_by(limits)
        require_askable(info.settings.proposer, info.settings.proposer_options, budget.usd)
        end_pause(folder)
        file = problem_in_run(folder).file
        if desk.target is None and info.environment.device is None:
            desk = replace(desk, target=info.environment.target)
        notify = desk.notify
        notify(f"{info.problem.title}: {STARTING}")
        with desk.worker() as worker:
            say_environment(worker, notify)
            notify(READING)
            loaded = worker.load(
                str(file), msgspec.structs.replace(info.settings.loading, library=info.problem.library)
            )
            if (loaded.source, loaded.modules) != (info.problem.source, info.problem.modules):
                raise RunFolderError(f"{file} was modified since the run started", "restore the original file")
            require_verifiable(worker, loaded, None)
            notify(QUALIFYING)
            require_qualified(worker, info.settings.problem, notify, info.settings.unqualified)
            yield OpenRun(journal, worker, budget)


def agree_to(settings: RunSettings, folder: Path, agreed: RunOptions, desk: Desk) -> None:
    """Raise `RequestError` for something that a run's settings ask for without consent, and for an option in `agreed`
    that the run does not have."""
    wishes, typed = wishes_of(settings), typed_words(agreed)
    own = {words for wish in wishes for words in wish.parts}
    own |= {typed_as(name, value) for name, value in settings.proposer_options.items()}
    if others := sorted(typed - own):
        raise RequestError(f"{others[0]} is not what the run in {folder} has", "--resume takes limits only")
    settle(wishes, typed, f"the run in {folder}", desk)


def read_starter(problem: ProblemPath, file: str | None, proposer: str) -> Candidate | None:
    """The kernel to start from; None where a proposer is to write the first one, as `inductor` does unless a file is
    named."""
    if file is not None:
        return read_candidate(file)
    if problem.starter is not None and proposer != "inductor":
        return read_candidate(problem.starter)
    return None
