"""`import`: recorded times beside those found here, what passes written out; the readers are in tests/importers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import PROBLEM, fault, run
from fakes import FakeWorker

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"


@pytest.fixture
def artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rounds: the one that claims more is the slower one here; a third one fails."""
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(PROBLEM)
    for number, (block, time_ms) in enumerate(((64, 0.1), (256, 0.2), (128, 0.3)), 1):
        home = tmp_path / "agent" / "optimization_trace" / f"round_{number}"
        home.mkdir(parents=True)
        failing = "# fails: wrong\n" if number == 3 else ""
        (home / "kernel.py").write_text(KERNEL.format(block=block) + failing)
        (home / "benchmark_results.json").write_text(json.dumps({"kernels": {"k": {"time_ms": time_ms}}}))
    return tmp_path / "agent"


@pytest.mark.usefixtures("artifacts")
def test_both_times_are_kept_and_only_ours_decides() -> None:
    result = run("import", "double.py", "agent", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    seeds = {
        one["seed"]["name"]: (one["seed"]["recorded_us"], one["evaluation"]["score_us"]) for one in document["seeds"]
    }
    assert seeds == {"round_1": (100.0, 400.0), "round_2": (200.0, 200.0), "round_3": (300.0, None)}
    assert document["best"] == "round_2"
    home = Path("imports/double-kernelagent")
    assert "BLOCK = 256" in (home / "best.py").read_text()
    assert sorted(file.name for file in home.iterdir()) == ["best.py", "imported.json", "round_1.py", "round_2.py"]
    assert json.loads((home / "imported.json").read_text()) == document


@pytest.mark.usefixtures("artifacts")
def test_the_table_names_both_and_the_next_step() -> None:
    Path("mine.py").write_text(KERNEL.format(block=32))
    text = run("import", "double.py", "agent", "--limit", "2", "--candidate", "mine.py").stdout
    assert text.splitlines()[0] == "double"
    assert text.splitlines()[1].split() == ["seed", "recorded", "here"]
    assert "not tried: round_3" in text
    assert "(the problem's own)" in text
    assert "kernelwright optimize double.py --starter imports/double-kernelagent/best.py" in text


@pytest.mark.usefixtures("artifacts")
def test_none_that_passes_is_status_one() -> None:
    result = run("import", "double.py", "agent/optimization_trace/round_3")
    assert result.exit_code == 1
    assert not Path("imports/double-kernelagent/best.py").exists()


@pytest.mark.usefixtures("artifacts")
def test_a_folder_that_holds_something_is_not_written_into() -> None:
    worker = FakeWorker()
    assert "agent is not empty" in fault(run("import", "double.py", "agent", "--out", "agent", worker=worker))
    assert worker.calls == []
