"""`--minutes` counts replies under way: at the limit they are abandoned, counted, and asked for again later."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes import FakeWorker, run_info
from kernelwright.journal import Abandoned, Event, EventKind, Journal, SessionEnd, SessionStart, fold
from kernelwright.journal.fold import LONGEST_GAP_S
from kernelwright.model import Budget, Candidate, Usage
from kernelwright.propose import build_proposer
from kernelwright.report.cost import run_usage
from kernelwright.report.view import read_run
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.search import build_strategy
from llm_server import LlmServer, Scripted, chat, llm_server
from proposing import KERNEL

STARTER = Candidate(source=KERNEL)
HOURS_S = 3 * 3600.0
"""How long a late reply takes: a session that waits for one never ends here."""
END_S = 600.0
LIMIT_MINUTES = 0.005


def wait_for(seen: int, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no time pass for the loop until the server has `seen` requests: a slow machine reaches the same point."""
    began_s: list[float] = []

    def monotonic() -> float:
        if not began_s and len(server.seen) >= seen:
            began_s.append(time.monotonic())
        return time.monotonic() - began_s[0] if began_s else 0.0

    for module in ("loop", "clock"):
        clock = SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
        monkeypatch.setattr(f"kernelwright.run.{module}.time", clock)


def reply(block: int, after_s: float = 0.0) -> Scripted:
    answer = chat(f"```python\n{KERNEL.replace('BLOCK = 256', f'BLOCK = {block}')}```\n")
    return Scripted(body=answer.body, after_s=after_s)


def session(run: Path, server: LlmServer, minutes: float, in_flight: int = 1) -> Outcome:
    """In a thread, so that one that waits for a late reply fails the test instead of stopping it."""
    found: list[Outcome] = []

    def search() -> None:
        info = run_info(strategy="greedy" if in_flight == 1 else "random", starter=STARTER, in_flight=in_flight)
        exists = (run / "journal.db").exists()
        given = {"model": "m", "base_url": server.url, "reflect": False, "timeout_s": HOURS_S}
        proposer = build_proposer("openai", given, {})
        with Journal.open(run, writable=True) if exists else Journal.create(run, info) as journal:
            strategy = build_strategy(journal.info.settings.strategy, STARTER, 0)
            found.append(optimize(journal, strategy, proposer, FakeWorker(), budget=Budget(minutes=minutes)))
        proposer.close()

    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    thread.join(END_S)
    assert found, "the session has no end"
    return found[0]


def abandoned(run: Path) -> list[Abandoned]:
    with Journal.open(run) as journal:
        return [event.payload for event in journal.events() if isinstance(event.payload, Abandoned)]


def test_a_reply_under_way_at_the_limit_is_abandoned_at_the_cost_of_the_dearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with llm_server(reply(512), reply(1024, HOURS_S)) as server:
        wait_for(2, server, monkeypatch)
        outcome = session(run, server, LIMIT_MINUTES)
        assert outcome.reason is StopReason.MINUTES
        assert outcome.best == 1, "what was found until then is confirmed"
        (one,) = abandoned(run)
        assert one == Abandoned(request=2, usage=Usage(input_tokens=100, output_tokens=20, requests=1, assumed=1))
        with Journal.open(run) as journal:
            assert run_usage(read_run(journal)).tokens == 240
            assert [request.number for request in fold(journal.events()).open_requests()] == [2]
    with llm_server(*[reply(2**k, 0.0 if k == 11 else HOURS_S) for k in range(11, 15)]) as server:
        session(run, server, LIMIT_MINUTES)
        assert server.seen == [], "the time is up: nothing is asked for again"
        wait_for(2, server, monkeypatch)
        outcome = session(run, server, 3 * LIMIT_MINUTES)
        assert outcome.reason is StopReason.MINUTES
        with Journal.open(run) as journal:
            assert next(t for t in journal.trials() if t.number == 2).passed, (
                "the request was open, and is answered now"
            )


def test_several_replies_under_way_are_each_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with llm_server(*[reply(2**k, HOURS_S) for k in range(5, 12)]) as server:
        wait_for(2, server, monkeypatch)
        outcome = session(tmp_path / "run", server, LIMIT_MINUTES, in_flight=3)
    assert outcome.reason is StopReason.MINUTES
    assert len(abandoned(tmp_path / "run")) >= 2


def test_a_clock_that_was_set_is_no_time_of_a_killed_session() -> None:
    def event(seq: int, time: str, payload: SessionStart | SessionEnd | None = None) -> Event:
        kind = EventKind.STARTED if payload else EventKind.TOLD
        return Event(seq=seq, kind=kind, number=None, time=f"{time}+00:00", payload=payload)

    start = event(1, "2026-01-01T10:00:00", SessionStart(budget=Budget()))
    forward = [start, event(2, "2026-01-01T10:00:10"), event(3, "2031-01-01T10:00:10"), event(4, "2031-01-01T10:00:20")]
    assert fold(forward).sessions[0].seconds == 20 + LONGEST_GAP_S
    back = [start, event(2, "2026-01-01T10:00:10"), event(3, "1999-01-01T10:00:00"), event(4, "1999-01-01T10:00:05")]
    assert fold(back).sessions[0].seconds == 15
