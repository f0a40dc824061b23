"""The table of benchmarks/reliability: it survives a cut, and says what its rows say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks" / "reliability"
RUN: dict[str, Any] = {
    "kind": "run", "mode": "real", "number": 0, "plan": "builtin", "killed": ["judge", "coordinator"], "sessions": 2,
    "same_trials": True, "same_events": True, "asked_twice": 0, "left_running": [], "left_files": [], "gone_s": 0.25,
    "tracebacks": 0, "fault": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("table", "odd"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_line_that_was_cut_off_counts_for_nothing_and_hides_no_later_one(tmp_path: Path) -> None:
    from table import Table

    table = Table(tmp_path / "t.jsonl")
    table.append({"kind": "fuzz", "index": 1})
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(b'{"kind": "fu')
    table.append({"kind": "fuzz", "index": 2})
    assert [row["index"] for row in table.rows()] == [1, 2]


def test_the_summary_counts_kills_differences_and_flags() -> None:
    from table import summary

    cases = [
        {"kind": "fuzz", "category": "replies", "index": index, "flags": ["key"] if index == 4 else []}
        for index in range(9)
    ]
    said = summary([RUN, {**RUN, "same_trials": False, "same_events": None, "asked_twice": 2}, *cases])
    assert "4 kills in 2 runs (judge 2, coordinator 2)" in said
    assert "1 of 2 runs ended with the same trials; 1 of 1 event by event; 2 answers paid twice" in said
    assert "| replies fuzz | 9 cases, 1 key (cases 4) |" in said


def test_a_case_is_the_same_each_time() -> None:
    import random

    import odd

    for make in (odd.settings, odd.environment, lambda chance: odd.reply(chance, "good")):
        assert make(random.Random("7")) == make(random.Random("7"))
