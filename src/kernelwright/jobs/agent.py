"""A session with a coding agent: it opens a run, gives out the run's prompts, takes replies, and keeps the run's
worker.

A reply goes into the run's mailbox, and `run_session` reads it there, as for any run of `optimize --proposer mailbox`.
The search runs in the background: the calls that start it return at once, and `wait` gives the results. A run can be
left at any moment, and continued here or with `optimize --resume`.
"""

from __future__ import annotations

import dataclasses
import tempfile
import threading
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kernelwright.diagnosis import furthest
from kernelwright.errors import RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import refuse_links
from kernelwright.jobs.background import Background
from kernelwright.jobs.display import lines_to
from kernelwright.jobs.runs import OpenRun, begin, new_run, reopen
from kernelwright.jobs.session import run_session
from kernelwright.jobs.settings import NO_FILE, SettingsFile, read_options
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import Scalar, Status, Trial
from kernelwright.propose import deposit_reply, prompt_path, waiting, withdraw, without_orders, without_shared
from kernelwright.propose.reply import Unusable, blocks, checked, code_in, new_candidate
from kernelwright.report.commands import KERNEL
from kernelwright.report.profiled import profiled, profiled_text
from kernelwright.report.trials import short_trial, trial_text, trials_table
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView, read_run
from kernelwright.run import Outcome, StopReason
from kernelwright.text.escape import encodable

MAILBOX = "mailbox"
FINISHED = "finish was called"

WHOLE: dict[str, Scalar] = {"settle_s": 0}
"""Options of the mailbox: a reply is written whole here, so the mailbox need not wait for it to settle."""

CLOSING_S = 10.0
"""When the server ends, running evaluations get this many seconds to finish."""

ONE = 1
"""Default number of requests that wait for a reply at the same time: each prompt then includes the result of the one
before.
"""


@dataclass
class Opened:
    """The run that the agent works on. things: closes its journal and its worker. outcome: of its last session. known:
    the trials whose verdict the agent has received. line: the session's latest progress line. prompt: the first prompt
    that the agent received, "" before that.
    """

    run: OpenRun
    things: ExitStack
    outcome: Outcome | None = None
    known: set[int] = field(default_factory=set)
    line: str = ""
    prompt: str = ""

    @property
    def journal(self) -> Journal:
        return self.run.journal


def refusal(reply: str, trials: tuple[Trial, ...], worker: Worker) -> str:
    """Why a reply would fail before it runs; "" where it would not."""
    try:
        candidate = new_candidate(checked(code_in(reply) if blocks(reply) else reply), trials)
    except Unusable as unusable:
        return str(unusable)
    found = worker.compile(candidate, "search")
    return found.reason if found.status in (Status.REJECTED, Status.COMPILE_ERROR) else ""


class AgentSession:
    """Works on one run at a time. Thread-safe: calls wait for each other, but not for background work."""

    def __init__(self, desk: Desk) -> None:
        """desk: without a target, it is the machine's or the run's own."""
        self.desk = desk
        self._lock = threading.RLock()
        """Guards access to the run; taken briefly by each call."""
        self._choosing = threading.Lock()
        """Guards the opening of a run, which takes as long as its worker needs to start."""
        self._run: Opened | None = None
        self._background = Background()
        self._most_waiting = ONE

    # --- choosing a run ---------------------------------------------------------------------------------------

    def start(
        self, problem: str | None = None, *, settings: SettingsFile = NO_FILE, at_once: int = ONE, **options: Any
    ) -> dict[str, Any]:
        """Begin a run; its first kernel, where there is one, is then judged in the background.

        settings, options: as for `jobs.optimize.optimize`; the proposer is the mailbox. at_once: how many requests may
        wait for a reply at the same time.
        """
        with self._choosing:
            given = read_options({"target": self.desk.target, **options, "problem": problem, "proposer": MAILBOX})
            run = new_run(given, settings, self.desk)
            if run.settings.strategy == "beam":  # a round has the requests that wait, made from the newest best kernels
                options = {"width": at_once, **run.settings.strategy_options}
                run = dataclasses.replace(run, settings=replace(run.settings, strategy_options=options))
            self._open(begin(run), at_once)
            return self.state()

    def go_on(self, folder: str, at_once: int = ONE) -> dict[str, Any]:
        """Continue a mailbox run that began before, here or by `optimize --proposer mailbox`."""
        with self._choosing:
            self._leave()
            if Path(folder).is_dir():
                refuse_links(Path(folder))
            with Journal.open(Path(folder)) as journal:
                proposer = journal.info.settings.proposer
            if proposer != MAILBOX:
                raise RequestError(f"{folder} is written by {proposer}, not by replies", "start a run of your own")
            self._open(reopen(Path(folder), desk=self.desk), at_once)
            return self.state()

    def _open(self, opening: AbstractContextManager[OpenRun], at_once: int) -> None:
        """Leave the run that is open, open this one, and search until a reply is needed."""
        self._leave()
        with ExitStack() as things:
            run = things.enter_context(opening)
            known = {trial.number for trial in read_run(run.journal).trials}
            with self._lock:
                self._run = Opened(run, things.pop_all(), known=known)
                self._most_waiting = at_once
                self._background.start("beginning the search", self._search)

    def _leave(self) -> None:
        """Close the open run, unless it is at work. No other call can start work in between."""
        with self._lock:
            if self._background.doing is not None:
                raise RequestError(f"the open run is at work: {self._background.doing}", "wait until it is done")
            self.close()

    def close(self) -> None:
        """Close the run, which can be opened again, and its worker; running evaluations get a while to finish."""
        self._background.is_idle(CLOSING_S)
        with self._lock:
            if self._run is not None:
                run, self._run = self._run, None
                run.things.close()

    # --- working on it ----------------------------------------------------------------------------------------

    def next_request(self, number: int | None = None, whole: bool = False) -> dict[str, Any]:
        """The prompt of a waiting request with all results so far: of the given one, or of the first. whole: include
        the rules and the problem even if an earlier prompt had them.
        """
        with self._lock:
            run = self._opened()
            open_numbers = waiting(run.journal.folder)
            if not open_numbers or (number is not None and number not in open_numbers):
                waits = ", ".join(map(str, open_numbers)) or "none"
                raise RequestError(
                    f"no request {'' if number is None else number} waits; waiting: {waits}", self._what_now()
                )
            chosen = open_numbers[0] if number is None else number
            prompt = without_orders(prompt_path(run.journal.folder, chosen).read_text(encoding="utf-8"))
            is_known = bool(run.prompt) and not whole
            run.prompt = run.prompt or prompt
            return {
                "number": chosen,
                "waiting": list(open_numbers),
                "prompt": without_shared(prompt, run.prompt) if is_known else prompt,
            }

    def submit(self, number: int, reply: str) -> dict[str, Any]:
        """Hand in a reply, a module or Markdown with one; it is judged in the background. Raises `RequestError` for a
        reply that costs no trial, because the run could not use it: one without a module, code that the run has, and
        code that breaks a rule or does not compile. The request then still waits.
        """
        with self._lock:
            run, trials = self._opened(), self._view().trials
        if refused := refusal(reply, trials, run.run.worker):
            raise RequestError(f"refused, and no trial was spent: {refused}", "correct it and submit it again")
        with self._lock:
            run = self._opened()
            suffix = ".md" if blocks(reply) else ".py"
            with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
                file = Path(scratch) / f"reply{suffix}"
                file.write_text(encodable(reply), encoding="utf-8")
                deposit_reply(run.journal.folder, number, file)
            self._background.start(f"judging the reply to request {number}", self._search)
            return {"submitted": number, "doing": self._background.doing, "what_now": "wait gives its verdict"}

    def finish(self) -> dict[str, Any]:
        """End the run, in the background: withdraw what still waits, and confirm the best."""
        with self._lock:
            self._opened()
            self._background.start("verifying the best kernel again", self._end)
            return self.state()

    def _end(self) -> None:
        with self._lock:
            run = self._opened()
            for number in waiting(run.journal.folder):
                withdraw(run.journal.folder, number)
            early = run.outcome is None or run.outcome.reason is StopReason.WAITING
        self._search(most_waiting=0)
        if early and run.outcome is not None and run.outcome.reason is StopReason.FINISHED:
            run.outcome = replace(run.outcome, detail=FINISHED)

    def _search(self, most_waiting: int | None = None) -> None:
        """Run a session. most_waiting: of `optimize`; None: what the agent chose."""
        opened = self._opened()

        def keep(line: str) -> None:
            opened.line = line

        opened.outcome = run_session(
            opened.run, dataclasses.replace(self.desk, display=lines_to(keep)), proposer_options=WHOLE,
            most_waiting=self._most_waiting if most_waiting is None else most_waiting,
        ).outcome  # fmt: skip

    # --- waiting for it ---------------------------------------------------------------------------------------

    def is_idle(self, within_s: float) -> bool:
        """Whether no background work is running, or none is left after this time."""
        return self._background.is_idle(within_s)

    @property
    def progress(self) -> str:
        """The running work, in a line."""
        run, doing = self._run, self._background.doing
        return " · ".join(filter(None, [doing, run.line if run is not None and doing else ""]))

    def news(self) -> dict[str, Any]:
        """Results of trials that the agent has not seen yet, and the state. Raises the error that ended the search."""
        self._background.raise_fault()
        with self._lock:
            run, view = self._opened(), self._view()
            new = [trial for trial in view.trials if trial.number not in run.known]
            run.known |= {trial.number for trial in new}
            return {"verdicts": [short_trial(trial, view) for trial in new], "state": self.state()}

    # --- looking at it ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State of the run, in few words; available while it is working."""
        with self._lock:
            run, view, doing = self._opened(), self._view(), self._background.doing
            over = self._is_over()
            finished = sum(view.info.settings.counts(trial.request) for trial in view.trials)
            return {
                "run": str(run.journal.folder),
                "problem": run.journal.info.problem.title,
                "sandbox": run.journal.info.environment.sandbox,
                "doing": doing,
                "over": over,
                "stopped": run.outcome.detail if run.outcome is not None and over else None,
                "verdict": verdict_text(view),
                "waiting": list(waiting(run.journal.folder)),
                "trials": {"finished": finished, "limit": run.run.budget.trials},
                "minutes": {"spent": round(view.at_work_s / 60, 2), "limit": run.run.budget.minutes},
                "best_kernel": str(run.journal.folder / KERNEL) if view.best is not None else None,
                "what_now": self._what_now(),
            }

    def verdict(self, number: int) -> dict[str, Any]:
        """The result of a trial with all its findings and its source."""
        with self._lock:
            trial, view = self._trial(number), self._view()
            return {**short_trial(trial, view), "text": trial_text(trial, view)}

    def profile(self, number: int) -> str:
        """Bound, gap, bottleneck, counters of a trial, on the timed case where it is furthest from the bound."""
        with self._lock:
            run, trial = self._opened(), self._trial(number)
            if self._background.doing is not None:
                raise RequestError(f"the worker is at work: {self._background.doing}", "wait, then ask again")
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
            raise RequestError("no run is open", "start_run begins one, open_run opens an earlier one")
        return self._run

    def _is_over(self) -> bool:
        """Whether the last session came to its end, without an error and without a request that waits."""
        outcome = self._opened().outcome
        return self._background.doing is None and outcome is not None and outcome.reason is not StopReason.WAITING

    def _what_now(self) -> str:
        run = self._opened()
        if self._background.doing is not None:
            return "wait gives the result"
        if waiting(run.journal.folder):
            return "next_request gives a prompt; submit answers it"
        if not self._is_over():
            return f"the last search failed: open_run with {run.journal.folder} goes on with it"
        return "the run is over: see verdict and best_kernel; start_run begins another"
