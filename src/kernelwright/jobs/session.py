"""Runs one session of a run: the search, its control arm, and the files that it leaves.

Whatever ends a session (a budget, a wait, an interrupt, an error), the run's folder holds everything that was found and
paid for, and the run can be resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.cache import Cache
from kernelwright.errors import RunFolderError
from kernelwright.interruption import Ended
from kernelwright.jobs.beside import measure_beside, measure_elsewhere
from kernelwright.jobs.control_arm import run_control
from kernelwright.jobs.display import lines_to
from kernelwright.jobs.runs import OpenRun
from kernelwright.jobs.session_log import SessionLog
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.journal import Journal
from kernelwright.model import Budget, RunInfo, Scalar, Trial
from kernelwright.propose import build_proposer, writes_code
from kernelwright.propose.inductor import InductorFirst
from kernelwright.propose.lessons import write_cards
from kernelwright.report.files import write_answer, write_views
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.run.replay import replay
from kernelwright.run.verdicts import MOST_BYTES, VARIABLE, Verdicts, cache_folder, problem_files
from kernelwright.search import build_strategy
from kernelwright.search.protocol import Strategy


@dataclass(frozen=True)
class SessionResult:
    """How a session ended, and what its run has found so far. budget: the limits of the session."""

    view: RunView
    outcome: Outcome
    budget: Budget

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.view.folder

    @property
    def best(self) -> Trial | None:
        """The confirmed best; the starter where nothing better was confirmed; None where no kernel passed, and while
        the search has not ended."""
        return self.view.best

    @property
    def verdict(self) -> str:
        """What was found and how sure that is, in a few lines."""
        return verdict_text(self.view)


def run_session(
    run: OpenRun,
    desk: Desk,
    *,
    proposer_options: Mapping[str, Scalar] | None = None,
    max_autotune: bool = False,
    most_waiting: int | None = None,
) -> SessionResult:
    """Search until the session ends; whatever ends it, write the files of the run's folder.

    proposer_options: in place of those of the run. max_autotune: measure that
    mode of torch.compile beside the best kernel, too. most_waiting: as of `run.optimize`. An error or a signal is
    raised after the files are written.
    """
    journal, worker, budget = run
    notify, display = desk.notify, desk.display or lines_to(desk.notify)
    settings = journal.info.settings
    strategy = strategy_of(journal.info)
    state = replay(journal.history(), strategy, journal.folder)
    proposer = build_proposer(settings.proposer, {**settings.proposer_options, **(proposer_options or {})})
    if journal.info.starter is None and writes_code(settings.proposer):
        proposer = InductorFirst(proposer)
    log = SessionLog(journal, state, notify)
    resume = f"go on: kernelwright optimize --resume {journal.folder}"
    try:
        with open_verdicts(journal) as verdicts, display(journal.info, state) as on_event:
            outcome = optimize(
                journal, strategy, proposer, worker, budget=budget, state=state, on_event=log.before(on_event),
                on_ended=log.write_answer, verdicts=verdicts, most_waiting=most_waiting,
            )  # fmt: skip
        write_answer(log.view())
        is_over = outcome.reason not in (StopReason.WAITING, StopReason.INTERRUPTED)
        if is_over:
            measure_beside(log.view(), worker, max_autotune=max_autotune, notify=notify)
            measure_elsewhere(log.view(), worker, notify=notify)
        if is_over and settings.control is not None:
            run_control(journal, worker, notify=notify, display=display)
    except Ended as ended:
        notify(f"{ended}: what was found so far is in {journal.folder}; {resume}")
        notify(f"the page and the pictures: kernelwright report {journal.folder} --format html --plots DIR")
        raise
    except BaseException:  # an interrupt, too: what was found is written
        if log.is_gone:
            log.rescue()
        else:
            write_all(log, notify)
            if log.has_begun:
                notify(f"what was found so far is in {journal.folder}; {resume}")
        raise
    finally:
        proposer.close()
    try:
        view = write_all(log, notify)
    except RunFolderError:
        if log.is_gone:
            log.rescue()
        raise
    return SessionResult(replace(view, blob=lambda sha: read_blob(view.folder, sha)), outcome, budget)


def strategy_of(info: RunInfo) -> Strategy:
    """The strategy of a run, before its first request."""
    settings, known = info.settings, [one.candidate for one in info.known]
    return build_strategy(settings.strategy, info.starter, settings.seed, settings.strategy_options, known)


@contextmanager
def open_verdicts(journal: Journal) -> Iterator[Verdicts | None]:
    """The verdicts of earlier runs on this run's problem; None where they are turned off."""
    folder = cache_folder()
    if folder is None or journal.info.settings.no_cache:
        yield None
        return
    verdicts = Verdicts(Cache(folder, VARIABLE, MOST_BYTES), journal.info, problem_files(journal.folder))
    try:
        yield verdicts
    finally:
        verdicts.close()


def write_all(log: SessionLog, notify: Notify) -> RunView:
    """Write the files of the run's folder, and the lesson cards where the run has a folder for them."""
    view = log.view()
    write_views(view, log.trace)
    info = view.info
    if info.settings.lessons is not None:
        folder = Path(info.settings.lessons)
        for card in write_cards(folder, view.trials, info.problem, info.environment, view.folder.name):
            notify(f"lesson kept: {card}")
    return view


def read_blob(folder: Path, sha: str) -> str:
    """The text of a hash in the journal of a run that this process may have closed."""
    with Journal.open(folder) as journal:
        return journal.blob(sha)
