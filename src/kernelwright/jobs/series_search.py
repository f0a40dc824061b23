"""The search loop over several problems: the scheduler chooses the run that gets the next session, and the table is
updated.

Each problem is an ordinary run in a folder of its name. A problem that cannot be judged, or where a library call is the
whole computation, is a row with its reason and does not end the others.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.errors import ConfigError, NothingToWin, RequestError, WorkerError
from kernelwright.jobs.runs import OpenRun, begin, new_run, reopen
from kernelwright.jobs.series_state import FILE, SCHEMA_VERSION, Ended, RunProgress, Series, read_progress, write_series
from kernelwright.jobs.series_table import Table
from kernelwright.jobs.session import SessionResult, run_session
from kernelwright.jobs.settings import SettingsFile
from kernelwright.jobs.worker import Desk, Shared
from kernelwright.journal import NAME
from kernelwright.model import BUDGET_LIMITS, Budget, RunOptions
from kernelwright.report.several import Line, totals
from kernelwright.report.state import State
from kernelwright.run import StopReason
from kernelwright.search.schedule import Curve, Grant, amounts_left, next_round
from kernelwright.text.units import count_text


@dataclass(frozen=True)
class SeriesResult:
    """What a search over several problems has found. reason, detail: why its session ended. has_device: None where no
    problem was loaded yet."""

    folder: Path
    lines: tuple[Line, ...]
    reason: StopReason
    detail: str
    has_device: bool | None

    @property
    def failed(self) -> tuple[str, ...]:
        """Problems that were not judged, or of which no kernel passed."""
        return tuple(line.name for line in self.lines if line.state in FAILED)

    def document(self) -> dict[str, Any]:
        """What `optimize --json` prints of several problems."""
        return {
            "schema_version": SCHEMA_VERSION,
            "folder": str(self.folder),
            "reason": self.reason,
            "detail": self.detail,
            "problems": [asdict(line) for line in self.lines],
            "totals": [asdict(total) for total in totals(self.lines)],
        }


FAILED = frozenset({State.REFUSED, State.NOT_JUDGED, State.NO_KERNEL})


@dataclass
class SeriesSearch:
    """One session. over: by name, why a problem gets no more rounds in it. waiting: names of problems whose run waits
    for replies.
    """

    folder: Path
    series: Series
    given: RunOptions
    desk: Desk
    over: dict[str, str] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def run(self) -> SeriesResult:
        """Round after round, until the scheduler grants none, or an interrupt."""
        limits = [(limit, limit.of(self.series.budget)) for limit in BUDGET_LIMITS]
        shared = ", ".join(f"{limit.amount_text(most)} {limit.unit}" for limit, most in limits if most is not None)
        self.desk.notify(f"budget of all {len(self.series.problems)} problems together: {shared}")
        self.desk.notify(f"folder of the runs: {self.folder}")
        self.over.update({name: one.reason for name, one in self.series.ended.items()})
        finished = [name for name, one in self.progress.items() if one.reason == StopReason.FINISHED.value]
        self.over.update(dict.fromkeys(finished, "the search has nothing more to ask"))
        self.table.write(self.series)
        before_s, began_s = self.series.at_work_s, time.monotonic()
        with contextlib.closing(Shared(self.desk.start_worker)) as one_worker:
            desk = replace(self.desk, start_worker=one_worker)
            while (grant := self.next_grant()) is not None:
                try:
                    result = self.play(grant, desk)
                finally:
                    self.keep(at_work_s=before_s + time.monotonic() - began_s)
                    self.progress[grant.name] = read_progress(self.folder / grant.name)
                    self.table.changed(grant.name)
                    self.table.write(self.series)
                if result is not None and result.outcome.reason is StopReason.INTERRUPTED:
                    return self.result(StopReason.INTERRUPTED, result.outcome.detail)
        return self.result(*self.ending())

    @cached_property
    def progress(self) -> dict[str, RunProgress]:
        """Progress of each run by name, read from the journals."""
        return {one.name: read_progress(self.folder / one.name) for one in self.series.problems}

    @cached_property
    def table(self) -> Table:
        return Table(self.folder)

    def result(self, reason: StopReason, detail: str) -> SeriesResult:
        return SeriesResult(self.folder, self.table.lines(self.series), reason, detail, self.table.has_device)

    def keep(self, **changes: Any) -> None:
        """Change the file beside the runs."""
        self.series = msgspec.structs.replace(self.series, **changes)
        write_series(self.folder, self.series)

    # --- the budget -----------------------------------------------------------------------------------------

    def next_grant(self) -> Grant | None:
        """The choice of the scheduler, from what the journals say now."""
        return next_round(self.curves(), self.series.budget, self.series.round_trials, self.beside())

    def curves(self) -> dict[str, Curve]:
        weights = {one.name: one.weight for one in self.series.problems}
        return {
            name: replace(one.curve, is_over=name in self.over, weight=weights[name])
            for name, one in self.progress.items()
        }

    def beside(self) -> dict[str, float]:
        """Time spent outside of all rounds: in sessions of no round, and in loading and measuring."""
        found = {}
        for limit in BUDGET_LIMITS:
            rounds = sum(r.spent.get(limit.name, 0.0) for one in self.progress.values() for r in one.curve.rounds)
            every = sum(one.spent.get(limit.name, 0.0) for one in self.progress.values())
            found[limit.name] = every - rounds
            if limit.name == StopReason.MINUTES.value:
                found[limit.name] = max(every, self.series.at_work_s / 60) - rounds
        return found

    def ending(self) -> tuple[StopReason, str]:
        """Why the scheduler grants no round."""
        left = amounts_left(self.curves(), self.series.budget, self.beside())
        for limit in BUDGET_LIMITS:
            most = limit.of(self.series.budget)
            if most is not None and left[limit.name] < (0 if limit.digits else 1):
                return StopReason(limit.name), f"the budget of {limit.amount_text(most)} {limit.unit} is spent"
        if self.waiting:
            return StopReason.WAITING, f"{count_text(len(self.waiting), 'problem')}: prompts wait for replies"
        return StopReason.FINISHED, "no further gain is expected of any problem"

    # --- one round ------------------------------------------------------------------------------------------

    def play(self, grant: Grant, desk: Desk) -> SessionResult | None:
        """One session of the run that the round goes to. None where its problem is at fault or needs no kernel."""
        name, before = grant.name, self.progress[grant.name]
        self.desk.notify(f"{name}: round {len(before.curve.rounds) + 1}, {self.left_text()}")
        try:
            with self.opened(grant, before, desk) as run:
                result = run_session(run, desk, max_autotune=self.series.max_autotune)
        except NothingToWin as answer:
            self.end(name, State.LEFT, answer)
            self.desk.notify(str(answer))
            return None
        except ConfigError:
            raise  # The options are wrong, so every run would fail.
        except (RequestError, WorkerError) as error:
            self.end(name, State.REFUSED if isinstance(error, RequestError) else State.NOT_JUDGED, error)
            self.desk.notify(f"{name}: {error}")
            return None
        if (why := why_over(result, before)) is not None:
            self.over[name] = why
            if result.outcome.reason is StopReason.WAITING:
                self.waiting.add(name)
        return result

    def end(self, name: str, state: State, why: Exception) -> None:
        """Search a problem no more."""
        self.over[name] = str(why)
        self.keep(ended={**self.series.ended, name: Ended(state=state, reason=str(why))})

    def left_text(self) -> str:
        """What is left of the budget of all problems."""
        left = amounts_left(self.curves(), self.series.budget, self.beside())
        limits = [(limit, limit.of(self.series.budget)) for limit in BUDGET_LIMITS]
        parts = [limit.left_text(most, most - left[limit.name]) for limit, most in limits if most is not None]
        return f"budget left: {', '.join(parts)}"

    @contextlib.contextmanager
    def opened(self, grant: Grant, before: RunProgress, desk: Desk) -> Iterator[OpenRun]:
        """The run of a round with its worker: a new one in its first round."""
        folder, place = self.folder / grant.name, self.place(grant.name)
        if (folder / NAME).exists():
            limits = extend(grant.limits, before.spent)
            with reopen(folder, limits, agreed=self.given_again, desk=desk) as run:
                yield run
            return
        given = msgspec.structs.replace(
            self.given, problem=None, out=str(folder), **msgspec.structs.asdict(grant.limits)
        )
        file = SettingsFile(self.folder / FILE, msgspec.structs.replace(self.series.options, problem=place))
        with begin(new_run(given, file, desk)) as run:
            yield run

    def place(self, name: str) -> str:
        return next(one.problem for one in self.series.problems if one.name == name)

    @property
    def given_again(self) -> RunOptions:
        """The typed options that a run may ask consent for."""
        given = self.given
        return RunOptions(base_url=given.base_url, lessons=given.lessons, proposer_option=given.proposer_option)


def why_over(result: SessionResult, before: RunProgress) -> str | None:
    """Why a run gets no more rounds after this session; None where it may."""
    outcome = result.outcome
    if outcome.reason is StopReason.WAITING:
        return f"waits for replies: kernelwright optimize --resume {result.folder} shows which"
    if outcome.reason is StopReason.FINISHED:
        return outcome.detail
    if sum(result.view.info.settings.counts(t.request) for t in result.view.trials) <= before.spent.get("trials", 0):
        return f"there is no room for another trial: {outcome.detail}"
    return None


def extend(limits: Budget, spent: Mapping[str, float]) -> Budget:
    """A run's limits, raised by so much beyond what it has spent."""
    found = {}
    for limit in BUDGET_LIMITS:
        if (amount := limit.of(limits)) is not None:
            most = amount + spent.get(limit.name, 0.0)
            found[limit.name] = int(most) if limit.name in ("trials", "tokens") else most
    return Budget(**found)  # type: ignore[arg-type]
