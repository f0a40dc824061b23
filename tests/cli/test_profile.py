"""`profile`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "double.py").write_text(PROBLEM)
    (tmp_path / "kernel.py").write_text("BLOCK = 64\n")
    return tmp_path


def test_people_read_the_gap_one_bottleneck_with_its_evidence_and_moves() -> None:
    result = run("profile", "double.py", "kernel.py")
    assert result.exit_code == 0
    said = result.stdout
    assert "kernel.py, case big" in said
    assert "gap       8.00 times the bound: 12 % of it" in said
    assert "bottleneck: cache in double_kernel" in said
    assert "l1_throughput" in said
    assert "above 60 %" in said
    assert "ncu" in said
    assert "read once" in said
    assert "sm__extra.sum" not in said


def test_json_is_one_document_with_profile_and_diagnosis() -> None:
    result = run("profile", "double.py", "kernel.py", "--json")
    document = json.loads(result.stdout)
    (one,) = document["profiles"]
    assert (one["name"], one["case"], one["gap"]) == ("kernel.py", "big", 8.0)
    assert one["diagnosis"]["bottleneck"]["limit"] == "cache"
    assert one["profile"]["launches"][0]["counters"][0] == {
        "name": "l1_throughput", "value": 0.9, "unit": "fraction", "tool": "ncu", "metric": "",
    }  # fmt: skip
    assert document["environment"]["device"] == "Fake GPU"
    assert "bottleneck: cache" in result.stderr


def test_every_counter_is_shown_on_request() -> None:
    assert "sm__extra.sum" in run("profile", "double.py", "kernel.py", "--full").stdout


def test_the_framework_is_profiled_beside_it_on_request_and_the_candidate_comes_first() -> None:
    worker = FakeWorker()
    result = run("profile", "double.py", "kernel.py", "--framework", worker=worker)
    assert (
        result.stdout.index("double_kernel")
        < result.stdout.index("eager, case big")
        < result.stdout.index("eager_kernel")
    )
    assert [name for name, purpose in worker.calls if purpose == "profile"][-1] == "eager"


def test_a_held_out_case_can_be_asked_for_by_name() -> None:
    assert "kernel.py, case odd" in run("profile", "double.py", "kernel.py", "--case", "odd").stdout


def test_a_kernel_that_is_wrong_is_not_profiled() -> None:
    Path("kernel.py").write_text("BLOCK = 64\n# fails: wrong\n")
    worker = FakeWorker()
    result = run("profile", "double.py", "kernel.py", worker=worker)
    assert result.exit_code == 1
    assert "kernel.py failed on big: the source says that it fails" in result.stderr
    assert [purpose for _, purpose in worker.calls if purpose == "profile"] == []
    result = run("profile", "double.py", "kernel.py", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["profiles"] == []
    assert document["failure"] == "kernel.py failed on big: the source says that it fails: wrong"


def test_a_case_that_there_is_not_is_a_fault_that_lists_those_there_are() -> None:
    assert "no case 'huge'" in fault(run("profile", "double.py", "kernel.py", "--case", "huge"))


def test_the_framework_is_not_profiled_without_a_gpu() -> None:
    nowhere = msgspec.structs.replace(ENVIRONMENT, device=None)
    said = fault(run("profile", "double.py", "kernel.py", "--framework", worker=FakeWorker(where=nowhere)))
    assert "--framework needs a GPU" in said
