"""What a session computes for a trial does not grow with its run: the state is kept up to date, not made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType, FrameType

import pytest

from fakes import FakeProposer, FakeWorker, run_info
from kernelwright.jobs.display import lines_to
from kernelwright.jobs.session_log import SessionLog
from kernelwright.journal import Event, EventKind, Journal, RunState
from kernelwright.model import Budget, Candidate, Proposal, Request
from kernelwright.propose.protocol import Context
from kernelwright.run import optimize
from kernelwright.run.replay import replay
from kernelwright.search import build_strategy

TRIALS = 400
SOME = 40
BUDGET = Budget(trials=TRIALS, minutes=600.0, usd=1e4, tokens=10**9, gpu_seconds=1e7)


def different(request: Request, context: Context) -> Proposal:
    source = f"BLOCK = {8 << (request.number * 7 % 12)}\n# number {request.number}\n"
    return Proposal(author="fake", candidate=Candidate(source=source))


class Calls:
    """Counts the calls of Python functions in this thread. takes: of `RunState.take`. told: the count at each trial
    that was told."""

    def __init__(self) -> None:
        self.count = self.takes = 0
        self.told: list[int] = []

    def __call__(self, frame: FrameType, what: str, _: object) -> None:
        self.count += what == "call"
        self.takes += what == "call" and frame.f_code is TAKE

    def note(self, event: Event) -> None:
        if event.kind is EventKind.TOLD:
            self.told.append(self.count)


TAKE: CodeType = RunState.take.__code__


def run(folder: Path, strategy_name: str) -> tuple[Calls, list[Event]]:
    """A session as `run_session` has it, with a progress line for each event and the trace by rounds."""
    info = run_info(strategy=strategy_name, in_flight=1)
    calls, lines = Calls(), list[str]()
    with Journal.create(folder / "run", info) as journal:
        strategy = build_strategy(strategy_name, info.starter, 0, {})
        state = replay(journal.history(), strategy, journal.folder)
        log = SessionLog(journal, state, lines.append)
        with lines_to(lines.append)(info, state) as show:

            def on_event(event: Event) -> None:
                show(event)
                calls.note(event)

            before = sys.getprofile()
            sys.setprofile(calls)
            try:
                optimize(
                    journal, strategy, FakeProposer(answer=different, at_once=True), FakeWorker(), budget=BUDGET,
                    state=state, on_event=log.before(on_event),
                )  # fmt: skip
            finally:
                sys.setprofile(before)
        assert len(lines) > 3 * TRIALS
        return calls, journal.history()


@pytest.mark.parametrize("strategy", ["beam", "greedy", "random"])
def test_a_late_trial_takes_as_few_calls_as_an_early_one_and_each_event_is_applied_once(
    tmp_path: Path, strategy: str
) -> None:
    calls, events = run(tmp_path, strategy)
    assert calls.takes == len(events)
    assert len(calls.told) == TRIALS
    early, late = (calls.told[start + SOME] - calls.told[start] for start in (SOME, TRIALS - SOME - 1))
    assert late < 1.5 * early, (early, late)
    if strategy != "random":  # which has no rounds
        last = max(event.payload.round for event in events if isinstance(event.payload, Request))
        written = sorted(os.listdir(tmp_path / "run" / "trace"))
        assert written == sorted(f"round_{number:02d}" for number in range(last)), "all but the last, which may go on"
