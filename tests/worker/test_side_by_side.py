"""Candidates that are judged side by side: each has one interpreter, and the judge computes each reference once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from fakes import PROBLEM
from kernelwright.model import Candidate, Status
from kernelwright.worker.judge.messages import Fill, ToJudge
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import measure_ahead
from on_site import CANDIDATE, opened, watch

COUNTED = """
import pathlib

import torch

CASES = [dict(name="small", n=64, small=True), dict(name="odd", n=33, small=True), dict(name="timed", n=4096)]


class Model(torch.nn.Module):
    def forward(self, x):
        with (pathlib.Path(__file__).parent / "calls").open("a") as file:
            file.write(".")
        return x * 2


def get_inputs(n):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""
"""A problem whose reference leaves a mark for each of its calls."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with opened(tmp_path_factory.mktemp("site"), COUNTED) as made:
        yield made


def test_candidates_in_turn_start_one_interpreter_each(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    if session.processes.on_gpu:
        pytest.skip("a GPU's bench serves every candidate")
    started: Counter[str] = Counter()
    acquire = Lease.acquire

    def politely(lease: Lease) -> None:
        time.sleep(0.02)  # lets the other candidate have it first
        acquire(lease)

    candidates = [Candidate(source=CANDIDATE.replace("double_kernel", name)) for name in ("one_kernel", "other_kernel")]
    with monkeypatch.context() as patch, ThreadPoolExecutor() as threads:
        watch(session, patch, lambda child: started.update([child.role]))
        patch.setattr(Lease, "acquire", politely)
        found = list(threads.map(lambda candidate: evaluate(session, candidate, "search"), candidates))
    assert [one.status for one in found] == [Status.PASSED] * 2
    assert started["interpreter"] == 2
    assert all(one.stages_s["wait"] >= 0 and one.stages_s["verify"] > 0 for one in found)
    draws_s = [one.stages_s.get("draws", 0.0) for one in found]
    again = evaluate(session, Candidate(source=CANDIDATE.replace("double_kernel", "third_kernel")), "search")
    assert sum(draws_s) > 0, "the first candidate on a draw has its tolerance measured"
    assert "draws" not in again.stages_s


def test_the_lease_is_released_after_a_stage_that_follows_the_undisturbed_part() -> None:
    processes = SimpleNamespace(on_gpu=False, lease=Lease(None), replay_for=lambda candidate: None)
    subject = Subject(
        cast(Session, SimpleNamespace(processes=processes, measured_s=0.0, loaded=lambda: PROBLEM)),
        Candidate(source=""),
    )
    with subject.undisturbed(), subject.leased("verify"):
        pass
    with subject.leased("profile"):
        pass
    with processes.lease:
        assert not processes.lease.is_nested


def test_a_second_candidate_costs_the_reference_no_call(session: Session) -> None:
    calls = session.processes.scratch / "calls"
    assert evaluate(session, Candidate(source=CANDIDATE), "verify").status is Status.PASSED
    before = calls.stat().st_size
    later = Candidate(source=CANDIDATE.replace("double_kernel", "later_kernel"))
    assert evaluate(session, later, "verify").status is Status.PASSED
    assert before > 0
    assert calls.stat().st_size == before


def test_tolerances_are_measured_before_there_is_a_candidate(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.processes.drop("judge")
    measure_ahead(session)
    ahead_s, filled, ask = session.measured_s, list[Fill](), session.processes.ask_judge

    def watched(message: ToJudge, *args: Any, **kwargs: Any) -> Any:
        answer = ask(message, *args, **kwargs)
        if isinstance(message, Fill) and message.case in ("small", "odd") and answer:
            filled.append(message)
        return answer

    monkeypatch.setattr(session.processes, "ask_judge", watched)
    found = evaluate(session, Candidate(source=CANDIDATE), "search")
    assert (found.status, filled) == (Status.PASSED, []), "no draw of these cases was left to be measured"
    assert 0 < ahead_s <= found.stages_s["draws"] + 1e-3, "the first evaluation counts that time"
    assert session.measured_s == 0


def test_nothing_is_measured_for_a_problem_that_another_replaced(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.processes, "problem", msgspec.structs.replace(session.read_from()))
    measure_ahead(session)
    assert session.measured_s == 0
