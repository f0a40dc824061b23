"""Plans that were sent once: both ends of a channel remember the same ones, and none is sent twice to a process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kernelwright.model import Candidate, Status
from kernelwright.worker.bench.messages import AddPlan, AddText
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.processes.channel import KEPT, remember
from kernelwright.worker.processes.children import Child
from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, opened


def test_the_oldest_plans_are_forgotten_at_both_ends() -> None:
    names: dict[str, None] = {}
    plans: dict[str, int] = {}
    for number in range(2 * KEPT + 3):
        remember(names, str(number), None)
        remember(plans, str(number), number)
    assert [*names] == [*plans] == [str(number) for number in range(KEPT + 3, 2 * KEPT + 3)]


def test_a_process_is_sent_a_plan_once_and_a_new_one_is_sent_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: Counter[tuple[str, int, str]] = Counter()
    ask = Child.ask

    def watched(child: Child, message: Any, timeout_s: float) -> dict[str, Any]:
        if isinstance(message, AddPlan | AddText | to_judge.AddPlan):
            sent[(child.role, child.pid, message.name)] += 1
        return ask(child, message, timeout_s)

    monkeypatch.setattr(Child, "ask", watched)
    with opened(tmp_path) as session:
        for _ in range(2):
            assert evaluate(session, Candidate(source=CANDIDATE), "search").status is Status.PASSED
        session.processes.drop("judge")
        assert evaluate(session, Candidate(source=CANDIDATE), "search").status is Status.PASSED
    assert set(sent.values()) == {1}
    judges = Counter(name for role, _, name in sent if role == "judge")
    assert set(judges.values()) == {2}, "once to each of two judges"
