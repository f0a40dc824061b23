"""The run that an agent works on: begun or gone on with, its prompts handed out, its replies taken, its worker kept.

Not a loop of its own: a reply goes into the run's mailbox, and a session of `run.optimize` takes it from there,
journal, budget and confirmation included. The rule: one thing at a time, and a run can be left at any moment and gone
on with here or with `optimize --resume`.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kernelwright.cli.control_arm import run_control
from kernelwright.cli.parts import Parts
from kernelwright.cli.session import (
    agree_to,
    keep_lessons,
    latest_budget,
    new_run,
    read_starter,
    wants_control,
    worker_of,
)
from kernelwright.diagnosis import furthest
from kernelwright.errors import RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import refuse_links
from kernelwright.journal import EventKind, Journal
from kernelwright.model import Budget, RunSettings, Trial
from kernelwright.problems import find_problem, read_problem_text
from kernelwright.propose import build_proposer, deposit_reply, prompt_path, waiting, withdraw
from kernelwright.report.files import write_views
from kernelwright.report.profiled import profiled, profiled_text
from kernelwright.report.text import KERNEL
from kernelwright.report.trials import trial_text, trials_table
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView, read_run
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.search import build_strategy
from kernelwright.source import parse as syntax
from kernelwright.text.escape import encodable

MAILBOX = "mailbox"
FINISHED = "finish was called"


@dataclass
class OpenRun:
    """things: what is to be closed, the worker and the journal."""

    journal: Journal
    worker: Worker
    budget: Budget
    things: ExitStack
    outcome: Outcome | None = None


class Desk:
    """Thread-safe: calls wait for each other."""

    def __init__(self, parts: Parts, target: str | None = None) -> None:
        self._parts, self._target = parts, target
        self._lock = threading.RLock()
        self._run: OpenRun | None = None

    # --- choosing a run ---------------------------------------------------------------------------------------

    def start(
        self, problem: str, trials: int | None, minutes: float | None, strategy: str, starter_file: str | None
    ) -> dict[str, Any]:
        """Begin a run; its first kernel, where there is one, is judged before this returns."""
        with self._lock:
            found = find_problem(problem)
            read_problem_text(found.file)
            starter = read_starter(found, starter_file, MAILBOX)
            settings = RunSettings(
                problem=problem,
                strategy=strategy,
                proposer=MAILBOX,
                proposer_options={"settle_s": 0},  # a reply is written whole here, so that nothing has to settle
                budget=Budget(trials=trials, minutes=minutes),
                starter=starter_file,
            )
            build_strategy(strategy, starter, settings.seed, settings.strategy_options)
            self.close()
            with ExitStack() as things:
                worker = things.enter_context(self._parts.start_worker(self._target))
                journal = new_run(worker, found, settings, starter, None)
                things.enter_context(journal)
                self._run = OpenRun(journal, worker, settings.budget, things.pop_all())
            self._session()
            return self.state()

    def go_on(self, folder: str) -> dict[str, Any]:
        """Take up a mailbox run that was begun before, here or by `optimize --proposer mailbox`."""
        with self._lock:
            self.close()
            if Path(folder).is_dir():
                refuse_links(Path(folder))
            with ExitStack() as things:
                journal = things.enter_context(Journal.open(Path(folder), writable=True))
                proposer = journal.info.settings.proposer
                if proposer != MAILBOX:
                    raise RequestError(f"{folder} is written by {proposer}, not by replies", "start a run of your own")
                agree_to(journal.info.settings, Path(folder))
                worker = things.enter_context(worker_of(self._parts, journal, self._target))
                self._run = OpenRun(journal, worker, latest_budget(journal), things.pop_all())
            self._session()
            return self.state()

    def close(self) -> None:
        """Let go of the run, which stays as it is."""
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
            self._session()
            return {**self.verdict(number), "state": self.state()}

    def finish(self) -> dict[str, Any]:
        """End the run: withdraw what still waits, and confirm the best."""
        with self._lock:
            run = self._opened()
            for number in waiting(run.journal.folder):
                withdraw(run.journal.folder, number)
            asked = sum(event.kind is EventKind.ASKED for event in run.journal.events())
            early = run.outcome is None or run.outcome.reason is StopReason.WAITING
            self._session(Budget(trials=asked))
            if early and run.outcome is not None and run.outcome.reason is StopReason.TRIALS:
                run.outcome = replace(run.outcome, detail=FINISHED)
            return self.state()

    def _session(self, budget: Budget | None = None) -> None:
        """budget: for this session; None: the run's."""
        run = self._opened()
        settings = run.journal.info.settings
        strategy = build_strategy(settings.strategy, run.journal.info.starter, settings.seed, settings.strategy_options)
        proposer = build_proposer(settings.proposer, {**settings.proposer_options, "settle_s": 0})
        try:
            run.outcome = optimize(run.journal, strategy, proposer, run.worker, budget=budget or run.budget)
            if wants_control(settings, run.outcome):
                run_control(run.journal, run.worker)
        finally:
            proposer.close()
            view = read_run(run.journal)
            write_views(view)
            keep_lessons(view)

    # --- looking at it ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Where the run stands, in few words."""
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
                "trials": {"finished": len(view.trials), "limit": run.budget.trials},
                "minutes": {"spent": round(view.at_work_s / 60, 2), "limit": run.budget.minutes},
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
            seen = run.worker.profile(candidate, case)
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

    def _opened(self) -> OpenRun:
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
