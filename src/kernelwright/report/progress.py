"""Progress of a run in words, computed from its journal's events: lines for a log, rows for a live display.

Pure: it draws nothing (`cli/display.py` does) and reads no clock. It uses only the journal, so it shows the state from
which a killed run would resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kernelwright.journal import Abandoned, Event, EventKind, JudgedAgain, Profiles, RunState, SessionEnd, SessionStart
from kernelwright.model import BUDGET_LIMITS, Budget, Evaluation, LaneChange, Profile, Proposal, Request, RunInfo
from kernelwright.report.evaluation import SECOND_LOOK
from kernelwright.report.lanes import lane_rows
from kernelwright.report.trials import NO_CANDIDATE
from kernelwright.report.view import share_of_bound
from kernelwright.run import StopReason
from kernelwright.run.spending import spent
from kernelwright.search.convergence import gpu_s
from kernelwright.text.escape import legible
from kernelwright.text.units import count_text, duration_text, share_text, time_text, times_text

ENOUGH_TRIALS = 2
"""Fewer trials give no estimate: the first one also pays for starting everything."""


class Progress:
    """Progress of the run with this state, which another part keeps up to date. Thread-safe."""

    def __init__(self, info: RunInfo, state: RunState) -> None:
        self._info, self._state = info, state

    def rows(self, now: datetime) -> list[tuple[str, str]]:
        """Label and text of each row of a display. now: with a time zone, in which an end is given."""
        with self._state.lock:
            settings = self._info.settings
            search = f"{self._info.problem.title}, {settings.strategy} with {settings.proposer}"
            elapsed_s = self._elapsed_s(now)
            busy = "" if self._state.lanes else self._busy_text(elapsed_s)
            return [
                ("search", f"{search}, {duration_text(elapsed_s)}"),
                ("best so far", self._best_text()),
                ("gap", self._gap_text()),
                ("trials", self._tally_text()),
                ("running", self._running_text()),
                *([("GPU busy", busy)] if busy else []),
                ("budget left", self._left_text(elapsed_s)),
                ("ends", self._end_text(elapsed_s, now)),
                *lane_rows(self._state.lanes, elapsed_s),
            ]

    @property
    def _began(self) -> datetime | None:
        """When the session at work did; None between sessions."""
        sessions = self._state.sessions
        return datetime.fromisoformat(sessions[-1].started) if sessions and sessions[-1].reason is None else None

    @property
    def stopped(self) -> str | None:
        """Why the last session ended; None while one is at work."""
        sessions = self._state.sessions
        return sessions[-1].reason if sessions else None

    @property
    def _budget(self) -> Budget:
        sessions = self._state.sessions
        return sessions[-1].budget if sessions else self._info.settings.budget

    @property
    def _spent_s(self) -> float:
        """By the sessions that are over."""
        sessions = self._state.sessions
        return sum(one.seconds for one in (sessions if self._began is None else sessions[:-1]))

    def _elapsed_s(self, now: datetime) -> float:
        """Time of all sessions; time between sessions, a pause included, does not count."""
        running_s = 0.0 if self._began is None else max((now - self._began).total_seconds(), 0.0)
        return self._spent_s + running_s

    def line(self, event: Event) -> str | None:
        """The line for a log of an event that the state has taken; None where it has none."""
        trial, payload = f"trial {event.number}", event.payload
        if isinstance(payload, Request):
            parents = f" of {', '.join(map(str, payload.parents))}" if payload.parents else ""
            return f"{trial} asked: {payload.operator.value}{parents}, round {payload.round}"
        if isinstance(payload, Proposal):
            if payload.error is not None:
                return f"{trial} has no candidate: {_first_line(payload.error)}"
            return f"{trial} proposed by {payload.author}" + (f": {_first_line(payload.note)}" if payload.note else "")
        if isinstance(payload, Evaluation):
            if event.kind is EventKind.CONFIRMED:
                return f"{trial} {SECOND_LOOK[payload.timing_kind].name}: {_outcome(payload)}"
            best = self._state.leader
            leads = best is not None and best.number == event.number
            return f"{trial} evaluation: {_outcome(payload)}" + (f"; leads: {self._best_text()}" if leads else "")
        if isinstance(payload, Profiles):
            return f"{trial} {_seen(payload)}"
        if isinstance(payload, Abandoned):
            return f"trial {payload.request} is abandoned: its reply is not waited for"
        if isinstance(payload, JudgedAgain):
            return f"trial {payload.trial} judged again: {_outcome(payload.evaluation)}"
        if isinstance(payload, LaneChange):
            return _lane_line(payload)
        if isinstance(payload, SessionStart):
            return f"search starts; budget left: {self._left_text(self._spent_s)}"
        if isinstance(payload, SessionEnd):
            if payload.reason == StopReason.PAUSED.value:
                return "search pauses until `kernelwright resume`"
            return f"search stops: {_first_line(payload.reason)}"
        return None

    def _best_text(self) -> str:
        best, seed = self._state.leader, self._state.seed
        if best is None or best.evaluation is None or best.score_us is None:
            return "none yet"
        parts = [f"{time_text(best.score_us, best.evaluation.timing_kind)} (trial {best.number})"]
        if best.evaluation.timing_kind == "estimate":
            return parts[0]
        if seed is not None and seed.score_us is not None and seed.number != best.number:
            parts.append(f"{times_text(seed.score_us / best.score_us)} as fast as trial {seed.number}")
        share = share_of_bound(best.evaluation, self._info.problem.cases)
        if share is not None:
            parts.append(f"{share_text(share)} of the bound")
        return ", ".join(parts)

    def _gap_text(self) -> str:
        best = self._state.leader
        share = None
        if best is not None and best.evaluation is not None and best.evaluation.timing_kind == "measured":
            share = share_of_bound(best.evaluation, self._info.problem.cases)
        return "not known" if share is None else f"{times_text(1 / share)} the bound's time"

    def _tally_text(self) -> str:
        ends = self._state.ends.most_common()
        return (
            ", ".join(f"{count} {NO_CANDIDATE if end is None else end.value}" for end, count in ends) or "none finished"
        )

    def _running_text(self) -> str:
        running = []
        for number in self._state.open_numbers():
            stage = "evaluating" if number in self._state.proposals else "proposing"
            running.append(f"{number} {self._state.requests[number].operator.value} ({stage})")
        if running:
            return ", ".join(running)
        if self.stopped == StopReason.PAUSED.value:
            return "paused: nothing, until `kernelwright resume`"
        return "nothing" if self.stopped or not self._state.requests else "verifying again what was found"

    def _busy_text(self, elapsed_s: float) -> str:
        """Candidates' share of the GPU's time so far; "" without a GPU. What is under way is not in it yet."""
        if self._info.environment.device is None or elapsed_s <= 0:
            return ""
        return busy_text(self._state.spending.by_gpu_s, elapsed_s)

    def _left_text(self, elapsed_s: float) -> str:
        asked = sum(map(self._info.settings.counts, self._state.requests.values()))
        used = spent(self._state, elapsed_s, self._info.settings) | {"trials": asked}
        limits = [(limit, limit.of(self._budget)) for limit in BUDGET_LIMITS]
        parts = [limit.left_text(most, used[limit.name]) for limit, most in limits if most is not None]
        return ", ".join(parts) or "no limit"

    def _end_text(self, elapsed_s: float, now: datetime) -> str:
        if self.stopped is not None:
            return "after a pause" if self.stopped == StopReason.PAUSED.value else f"ended: {_first_line(self.stopped)}"
        left_s = ends_in_s(self._budget, spent(self._state, elapsed_s, self._info.settings))
        if left_s is None:
            return "not known yet" if self._budget != Budget() else "when the strategy has nothing more to ask"
        at = datetime.fromtimestamp(now.timestamp() + left_s, now.tzinfo)
        return f"about {at:%H:%M}, in {duration_text(left_s)}, or earlier"


def _lane_line(change: LaneChange) -> str:
    if change.what == "up":
        where = " on ".join(legible(part) for part in (change.device or "no GPU", change.host) if part)
        return f"lane {legible(change.lane)} is up: {where}"
    under_way = f", with {count_text(change.evaluations, 'evaluation')} under way" if change.evaluations else ""
    return f"lane {legible(change.lane)} is {change.what}{under_way}: {_first_line(change.reason)}"


def _seen(profiles: Profiles) -> str:
    if not profiles.profiles:
        return f"not profiled: {_first_line(profiles.failed)}"
    tools = sorted({profile.tool or "the compiler's figures" for profile in profiles.profiles})
    return f"profiled by {', '.join(tools)} on {', '.join(profile.case for profile in profiles.profiles)}"


def _outcome(evaluation: Evaluation) -> str:
    if evaluation.score_us is not None:
        return f"{evaluation.status.value}, {time_text(evaluation.score_us, evaluation.timing_kind)}"
    return f"{evaluation.status.value}: {_first_line(evaluation.reason)}"


def _first_line(text: str) -> str:
    return legible(text.splitlines()[0]) if text else ""


def ends_in_s(budget: Budget, spent: Mapping[str, float]) -> float | None:
    """Seconds until the first limit is reached; None where there is no limit or too little to go by. spent: by name of
    the limit."""
    found = []
    for limit in BUDGET_LIMITS:
        most, used = limit.of(budget), spent[limit.name]
        if most is None:
            continue
        if limit.name == "minutes":
            found.append(max(most - used, 0.0) * 60)
        elif used > 0 and spent["trials"] >= ENOUGH_TRIALS:
            found.append(max(most - used, 0.0) * 60 * spent["minutes"] / used)
    return min(found, default=None)


def busy_text(spent_s: Mapping[str, float], elapsed_s: float) -> str:
    """The share of the time that candidates had the GPU, and where there are several, that of each.

    spent_s: by UUID. "" beside others is left out: a verdict of an earlier run took no time of these GPUs.
    """
    shares = {gpu: one_s / elapsed_s for gpu, one_s in spent_s.items() if gpu or len(spent_s) == 1}
    mean = share_text(sum(shares.values()) / max(1, len(shares)))
    if len(shares) < 2:
        return mean
    return f"{mean} of {len(shares)} GPUs ({', '.join(f'{gpu} {share_text(one)}' for gpu, one in shares.items())})"


def seconds_by_gpu(trials: Iterable[tuple[Evaluation | None, Sequence[Profile]]]) -> dict[str, float]:
    """GPU seconds that candidates took, by UUID. trials: evaluation and profiles of each."""
    found: dict[str, float] = {}
    for evaluation, profiles in trials:
        if evaluation is not None:
            found[evaluation.gpu] = found.get(evaluation.gpu, 0.0) + gpu_s(evaluation, profiles)
    return found
