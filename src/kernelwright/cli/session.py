"""One session of a run: begun or resumed, searched, and ended so that it can go on.

Not the search (`run`) and not what is shown of it (`display`, `ending`). The rule: whatever ends a session (a budget,
a wait, an interrupt, a fault), the run's folder holds all that was found and paid for, and says how to go on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.cli import options
from kernelwright.cli.gate import pass_gate
from kernelwright.cli.main import INTERRUPTED
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.parts import Parts
from kernelwright.errors import RequestError, RunFolderError
from kernelwright.folders import fresh_folder
from kernelwright.model import Budget, Candidate, RunInfo, RunSettings

if TYPE_CHECKING:
    from kernelwright.evaluator.protocol import Worker
    from kernelwright.journal import Journal
    from kernelwright.problems import ProblemPath
    from kernelwright.report.view import RunView
    from kernelwright.run import Outcome


def begin(
    parts: Parts,
    settings: RunSettings,
    out: str | None,
    target: str | None,
    as_json: bool,
) -> int:
    """A new run; whatever can be refused without a worker is refused before one starts."""
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.propose import build_proposer
    from kernelwright.search import build_strategy

    found = find_problem(settings.problem)
    read_problem_text(found.file)
    starter = read_starter(found, settings.starter, settings.proposer)
    build_strategy(settings.strategy, starter, settings.seed, settings.strategy_options)
    build_proposer(settings.proposer, settings.proposer_options).close()
    refuse_taken(out)
    with parts.start_worker(target) as worker, new_run(worker, found, settings, starter, out) as journal:
        note(f"run folder: {journal.folder}")
        return search(journal, worker, settings.budget, as_json)


def new_run(
    worker: Worker, found: ProblemPath, settings: RunSettings, starter: Candidate | None, out: str | None
) -> Journal:
    """The journal of a run that begins now, its problem loaded, past the gate, and copied into the run's folder.

    out: that folder; None for a fresh one under ./runs.
    """
    import datetime

    from kernelwright import __version__
    from kernelwright.journal import SCHEMA_VERSION, Journal
    from kernelwright.problems import copy_problem

    problem = worker.load(str(found.file), settings.dtype)
    pass_gate(worker, settings.problem, settings.unqualified)
    info = RunInfo(
        schema_version=SCHEMA_VERSION,
        kernelwright=__version__,
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        settings=settings,
        problem=problem,
        environment=worker.environment(),
        starter=starter,
    )
    folder = folder_for(found, out)
    return Journal.create(folder, info, lambda: copy_problem(found, folder))


def go_on(parts: Parts, folder: Path, limits: Budget, typed: Collection[str], target: str | None, as_json: bool) -> int:
    """A run that was begun before, here or elsewhere, with what `limits` sets in place of its own limits.

    typed: what was typed to agree to what the run's settings have (`consent`); it changes nothing.
    """
    from kernelwright.folders import refuse_links
    from kernelwright.journal import Journal
    from kernelwright.propose import build_proposer

    if folder.is_dir():
        refuse_links(folder)
    with Journal.open(folder, writable=True) as journal:
        settings = journal.info.settings
        agree_to(settings, folder, typed)
        build_proposer(settings.proposer, settings.proposer_options).close()
        budget = merged(latest_budget(journal), limits)
        with worker_of(parts, journal, target) as worker:
            return search(journal, worker, budget, as_json)


def agree_to(settings: RunSettings, folder: Path, typed: Collection[str] = ()) -> None:
    """Raise `RequestError` for something that a run's settings ask for and nobody typed, here or before, and for
    something typed that they do not have."""
    from kernelwright.cli.consent import settle, typed_as, wishes_of

    wishes = wishes_of(settings)
    own = {words for wish in wishes for words in wish.parts}
    own |= {typed_as(name, value) for name, value in settings.proposer_options.items()}
    if others := sorted(set(typed) - own):
        raise RequestError(f"{others[0]} is not what the run in {folder} has", "--resume takes limits only")
    settle(wishes, typed, f"the run in {folder}")


@contextmanager
def worker_of(parts: Parts, journal: Journal, target: str | None) -> Iterator[Worker]:
    """A worker with the problem of a run that is taken up again, past the gate; a pause of it ends.

    target: None for that of the run. Raises `RunFolderError` where the run's copy of the problem was changed.
    """
    from kernelwright.problems import problem_in_run
    from kernelwright.run import resume

    resume(journal.folder)  # a pause ends with the process that it held
    info, file = journal.info, problem_in_run(journal.folder).file
    if target is None and info.environment.device is None:
        target = info.environment.target
    with parts.start_worker(target) as worker:
        if worker.load(str(file), info.settings.dtype).source != info.problem.source:
            raise RunFolderError(f"{file} is not the problem that the run began with", "put its first text back")
        pass_gate(worker, info.settings.problem, info.settings.unqualified)
        yield worker


def latest_budget(journal: Journal) -> Budget:
    """The limits that a run's last session had, which may not be those that it began with."""
    sessions = journal.sessions()
    return sessions[-1].budget if sessions else journal.info.settings.budget


def search(journal: Journal, worker: Worker, budget: Budget, as_json: bool) -> int:
    """One session; whatever ends it, the run's views are written. Gives the exit status."""
    from kernelwright.cli.control_arm import run_control
    from kernelwright.cli.display import shown
    from kernelwright.cli.ending import ending_text
    from kernelwright.cli.record import Record
    from kernelwright.interruption import Ended
    from kernelwright.propose import build_proposer
    from kernelwright.report.document import report_document
    from kernelwright.report.files import write_answer, write_views
    from kernelwright.report.progress import Progress
    from kernelwright.run import StopReason
    from kernelwright.run import optimize as run_session
    from kernelwright.search import build_strategy

    settings = journal.info.settings
    strategy = build_strategy(settings.strategy, journal.info.starter, settings.seed, settings.strategy_options)
    proposer = build_proposer(settings.proposer, settings.proposer_options)
    record = Record(journal)
    go_on = f"go on: kernelwright optimize --resume {journal.folder}"
    outcome: Outcome | None = None
    try:
        with shown(Progress(journal.info, record.events)) as on_event:
            outcome = run_session(
                journal, strategy, proposer, worker, budget=budget, on_event=record.before(on_event),
                on_ended=record.write_answer,
            )  # fmt: skip
        write_answer(record.view())
        if wants_control(settings, outcome):
            run_control(journal, worker)
    except Ended as ended:
        note(f"{ended}: what was found so far is in {journal.folder}; {go_on}")
        note(f"the page and the pictures: kernelwright report {journal.folder} --format html --plots DIR")
        raise
    except BaseException:
        if record.is_gone:
            record.rescue()
        else:
            view = record.view()
            write_views(view, record.trace)
            keep_lessons(view)
            if record.has_begun:
                note(f"what was found so far is in {journal.folder}; {go_on}")
        raise
    finally:
        proposer.close()
    try:
        view = record.view()
        write_views(view, record.trace)
        keep_lessons(view)
    except RunFolderError:
        if record.is_gone:
            record.rescue()
        raise
    say(ending_text(view, outcome, budget), as_json)
    if as_json:
        say_document({**report_document(view), "reason": outcome.reason, "detail": outcome.detail})
    if outcome.reason is StopReason.INTERRUPTED:
        return INTERRUPTED
    return 1 if view.best is None and outcome.reason is not StopReason.WAITING else 0


def wants_control(settings: RunSettings, outcome: Outcome) -> bool:
    """Whether a session that ended so is followed by the run's control arm."""
    from kernelwright.run import StopReason

    return settings.control is not None and outcome.reason not in (StopReason.WAITING, StopReason.INTERRUPTED)


def keep_lessons(view: RunView) -> None:
    """Add what this run learned to the folder that it was given for that."""
    from kernelwright.propose.lessons import write_cards

    info = view.info
    if info.settings.lessons is None:
        return
    folder = Path(info.settings.lessons)
    for card in write_cards(folder, view.trials, info.problem.name, info.environment, view.folder.name):
        note(f"lesson kept: {card}")


def merged(before: Budget, limits: Budget) -> Budget:
    """The budget of a resumed run: a limit given now replaces the one it had."""
    return Budget(
        trials=before.trials if limits.trials is None else limits.trials,
        minutes=before.minutes if limits.minutes is None else limits.minutes,
        tokens=before.tokens if limits.tokens is None else limits.tokens,
        usd=before.usd if limits.usd is None else limits.usd,
        gpu_seconds=before.gpu_seconds if limits.gpu_seconds is None else limits.gpu_seconds,
    )


def read_starter(problem: ProblemPath, file: str | None, proposer: str) -> Candidate | None:
    """The kernel to start from; None where a proposer is to write the first one."""
    if file is not None:
        return options.candidate(file)
    if problem.starter is not None:
        return options.candidate(str(problem.starter))
    if proposer == "builtin":
        raise RequestError(
            f"{problem.name} has no starter.py beside it, and the built-in proposer only varies a kernel that exists",
            "give one with --starter FILE, or let a model write it: --proposer anthropic, openai or mailbox",
        )
    return None


def folder_for(problem: ProblemPath, out: str | None) -> Path:
    """Where a new run goes: the folder that was named, or a fresh one under ./runs, which nobody else gets."""
    import datetime

    if out is not None:
        return Path(out)
    now = datetime.datetime.now(datetime.timezone.utc)
    return fresh_folder(Path("runs"), f"{problem.name}-{now:%Y%m%d-%H%M%S}")


def refuse_taken(out: str | None) -> None:
    """Raise `RunFolderError` where the folder that was named holds a run."""
    from kernelwright.journal import NAME

    if out is not None and (Path(out) / NAME).exists():
        raise RunFolderError(f"{out} already holds a run", f"go on with it: --resume {out}, or name another")
