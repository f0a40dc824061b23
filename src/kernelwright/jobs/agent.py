"""A session with a coding agent: it opens a run, gives the run's prompts, takes replies, and keeps the run's worker.

A reply goes into the run's mailbox, and `run_session` takes it from there, like any run of `optimize --proposer
mailbox`. A run can be left at any moment, and continued here or with `optimize --resume`.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kernelwright.diagnosis import furthest
from kernelwright.errors import RequestError
from kernelwright.folders import refuse_links
from kernelwright.jobs.consent import refuse
from kernelwright.jobs.display import no_display
from kernelwright.jobs.runs import OpenRun, begin, new_run, reopen
from kernelwright.jobs.session import run_session
from kernelwright.jobs.settings import NO_FILE, SettingsFile, read_options
from kernelwright.jobs.worker import Notify, StartWorker
from kernelwright.journal import EventKind, Journal
from kernelwright.model import Budget, Scalar, Trial
from kernelwright.propose import deposit_reply, prompt_path, waiting, withdraw
from kernelwright.report.commands import KERNEL
from kernelwright.report.profiled import profiled, profiled_text
from kernelwright.report.trials import trial_text, trials_table
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView, read_run
from kernelwright.run import Outcome, StopReason
from kernelwright.source import parse as syntax
from kernelwright.text.escape import encodable

MAILBOX = "mailbox"
FINISHED = "finish was called"

WHOLE: dict[str, Scalar] = {"settle_s": 0}
"""Options of the mailbox: a reply is written whole here, so the mailbox need not wait for it to settle."""


@dataclass
class Opened:
    """The run that the agent works on. things: closes its journal and its worker. outcome: of its last session."""

    run: OpenRun
    things: ExitStack
    outcome: Outcome | None = None

    @property
    def journal(self) -> Journal:
        return self.run.journal


class AgentSession:
    """One run at a time. Thread-safe: calls wait for each other."""

    def __init__(self, *, start_worker: StartWorker, notify: Notify, target: str | None = None) -> None:
        """target: compile target, only without a GPU; None: the machine's or the run's own."""
        self._start_worker, self._notify, self._target = start_worker, notify, target
        self._lock = threading.RLock()
        self._run: Opened | None = None

    # --- choosing a run ---------------------------------------------------------------------------------------

    def start(self, problem: str | None = None, *, settings: SettingsFile = NO_FILE, **options: Any) -> dict[str, Any]:
        """Begin a run; its first kernel, where there is one, is judged before this returns.

        settings, options: as for `jobs.optimize.optimize`; the proposer is the mailbox.
        """
        with self._lock:
            given = read_options({"target": self._target, **options, "problem": problem, "proposer": MAILBOX})
            run = new_run(given, settings, ask=refuse, notify=self._notify)
            self._open(begin(run, start_worker=self._start_worker, notify=self._notify))
            return self.state()

    def go_on(self, folder: str) -> dict[str, Any]:
        """Continue a mailbox run that began before, here or by `optimize --proposer mailbox`."""
        with self._lock:
            self.close()
            if Path(folder).is_dir():
                refuse_links(Path(folder))
            with Journal.open(Path(folder)) as journal:
                proposer = journal.info.settings.proposer
            if proposer != MAILBOX:
                raise RequestError(f"{folder} is written by {proposer}, not by replies", "start a run of your own")
            again = reopen(
                Path(folder), target=self._target, start_worker=self._start_worker, notify=self._notify, ask=refuse
            )
            self._open(again)
            return self.state()

    def _open(self, opening: AbstractContextManager[OpenRun]) -> None:
        """Leave the run that is open, open this one, and search until a reply is needed."""
        self.close()
        with ExitStack() as things:
            run = things.enter_context(opening)
            self._run = Opened(run, things.pop_all())
        self._search()

    def close(self) -> None:
        """Close the run, which can be opened again, and its worker."""
        with self._lock:
            if self._run is not None:
                run, self._run = self._run, None
                run.things.close()

    # --- working on it ----------------------------------------------------------------------------------------

    def next_request(self, number: int | None = None) -> dict[str, Any]:
        """The prompt of a request that waits: that one, or the first."""
        with self._lock:
            run = self._opened()
            open_numbers = waiting(run.journal.folder)
            if not open_numbers or (number is not None and number not in open_numbers):
                waits = ", ".join(map(str, open_numbers)) or "none"
                raise RequestError(
                    f"no request {'' if number is None else number} waits; waiting: {waits}", self._what_now()
                )
            chosen = open_numbers[0] if number is None else number
            prompt = prompt_path(run.journal.folder, chosen).read_text(encoding="utf-8")
            return {"number": chosen, "waiting": list(open_numbers), "prompt": prompt}

    def submit(self, number: int, reply: str) -> dict[str, Any]:
        """Hand in a reply, a module or Markdown with one, and have it judged. Raises `RequestError` for one that the
        run could not use; the request then still waits."""
        with self._lock:
            run = self._opened()
            suffix = ".py" if is_module(reply) else ".md"
            with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
                file = Path(scratch) / f"reply{suffix}"
                file.write_text(encodable(reply), encoding="utf-8")
                deposit_reply(run.journal.folder, number, file)
            self._search()
            return {**self.verdict(number), "state": self.state()}

    def finish(self) -> dict[str, Any]:
        """End the run: withdraw what still waits, and confirm the best."""
        with self._lock:
            run = self._opened()
            for number in waiting(run.journal.folder):
                withdraw(run.journal.folder, number)
            asked = sum(event.kind is EventKind.ASKED for event in run.journal.events())
            early = run.outcome is None or run.outcome.reason is StopReason.WAITING
            self._search(Budget(trials=asked))
            if early and run.outcome is not None and run.outcome.reason is StopReason.TRIALS:
                run.outcome = replace(run.outcome, detail=FINISHED)
            return self.state()

    def _search(self, budget: Budget | None = None) -> None:
        """Run a session with this budget; None: the run's."""
        opened = self._opened()
        journal, worker, limits = opened.run
        opened.outcome = run_session(
            journal, worker, budget or limits, notify=self._notify, display=no_display, proposer_options=WHOLE
        ).outcome

    # --- looking at it ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State of the run, in few words."""
        with self._lock:
            run = self._opened()
            view = self._view()
            over = run.outcome is not None and run.outcome.reason is not StopReason.WAITING
            return {
                "run": str(run.journal.folder),
                "problem": run.journal.info.problem.name,
                "over": over,
                "stopped": run.outcome.detail if run.outcome is not None and over else None,
                "verdict": verdict_text(view),
                "waiting": list(waiting(run.journal.folder)),
                "trials": {"finished": len(view.trials), "limit": run.run.budget.trials},
                "minutes": {"spent": round(view.at_work_s / 60, 2), "limit": run.run.budget.minutes},
                "best_kernel": str(run.journal.folder / KERNEL) if view.best is not None else None,
                "what_now": self._what_now(),
            }

    def verdict(self, number: int) -> dict[str, Any]:
        """What became of a trial."""
        with self._lock:
            trial = self._trial(number)
            evaluation = trial.evaluation
            return {
                "trial": number,
                "status": evaluation.status.value if evaluation is not None else "no candidate",
                "score_us": trial.score_us,
                "timing_kind": evaluation.timing_kind if evaluation is not None else None,
                "text": trial_text(trial, self._view()),
            }

    def profile(self, number: int) -> str:
        """Bound, gap, bottleneck, counters of a trial, on the timed case where it is furthest from the bound."""
        with self._lock:
            run, trial = self._opened(), self._trial(number)
            candidate, problem = trial.proposal.candidate, run.journal.info.problem
            if candidate is None or trial.evaluation is None or not trial.passed:
                raise RequestError(f"trial {number} did not pass, so there is nothing to profile", "see its verdict")
            case = furthest(trial.evaluation, problem)
            if case is None:
                raise RequestError(f"trial {number} was not timed, so there is no gap to explain", "see its verdict")
            seen = run.run.worker.profile(candidate, case)
            info = next(one for one in problem.cases if one.case.name == case)
            timing = next(one.timing for one in trial.evaluation.results if one.case == case)
            return profiled_text(profiled(f"trial {number}", info, timing, seen, run.journal.info.environment))

    def history(self) -> str:
        """Every trial in a line."""
        with self._lock:
            return trials_table(self._view())

    def _view(self) -> RunView:
        return read_run(self._opened().journal)

    def _trial(self, number: int) -> Trial:
        found = next((trial for trial in self._view().trials if trial.number == number), None)
        if found is None:
            raise RequestError(f"trial {number} is not finished or not there", "history lists those that are")
        return found

    def _opened(self) -> Opened:
        if self._run is None:
            raise RequestError("no run is open", "start_run begins one, open_run takes one up")
        return self._run

    def _what_now(self) -> str:
        run = self._opened()
        if waiting(run.journal.folder):
            return "next_request gives a prompt; submit answers it"
        return "the run is over: see verdict and best_kernel; start_run begins another"


def is_module(reply: str) -> bool:
    """Whether a reply is the bare module, not Markdown around it."""
    try:
        syntax.parse(reply)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
