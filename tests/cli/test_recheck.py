"""`recheck`: still right, still faster? The worker is fake, and the package's benchmark answers from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import fault, run
from exported import softmax, win, write
from fakes import FakeWorker
from kernelwright.export.op import op_files
from kernelwright.model import Evaluation, Status
from rechecked import FAST, SLOW, in_graphs, package, right

pytestmark = pytest.mark.process


def recheck(folder: Path, *words: str, answer: Any = right) -> tuple[int, dict[str, Any]]:
    result = run("recheck", str(folder), "--json", *words, worker=FakeWorker(answer=answer))
    return result.exit_code, json.loads(result.stdout)


def test_right_and_faster_is_status_zero_and_says_what_changed(tmp_path: Path) -> None:
    status, document = recheck(package(tmp_path, [win([[64, 64]], 11.0, 20.0), SLOW]))
    assert status == 0
    assert (document["right"], document["faster"]) == (True, True)
    assert {one["what"]: (one["then"], one["now"]) for one in document["changed"]} == {
        "torch": ("2.8.0", "2.9.0"),
        "triton": ("3.4.0", "3.5.0"),
    }
    assert [(one["regime"], one["use"], one["used"]) for one in document["timed"]] == [
        (regime, use, used)
        for used in (True, False)
        for regime in ("called", "compiled")
        for use in ("calls", "graphs")
    ]


def test_a_size_that_is_used_and_now_slower_is_status_one(tmp_path: Path) -> None:
    status, document = recheck(package(tmp_path, [win([[64, 64]], 21.0, 20.0), SLOW]))
    assert status == 1
    assert (document["right"], document["faster"]) == (True, False)


def test_the_table_has_a_row_of_graphs_where_it_says_something_else_than_that_of_calls(tmp_path: Path) -> None:
    folder = package(tmp_path, [in_graphs(15.0), FAST], then=[in_graphs(10.0), FAST])
    lines = run("recheck", str(folder), worker=FakeWorker(answer=right)).stdout.splitlines()
    rows = [" ".join(line.split()) for line in lines if "still faster" in line or "no longer" in line]
    assert rows == [
        "16x64 called, in graphs 2.00x 1.33x still faster",
        "64x64 called 2.00x 2.00x still faster",
        "64x64 compiled 2.00x 2.00x still faster",
    ]


def test_a_size_that_cannot_be_captured_any_more_is_no_longer_faster_in_graphs(tmp_path: Path) -> None:
    now = FAST | {"kernel": {"call_us": 10.0}, "eager": {"call_us": 20.0}}
    folder = package(tmp_path, [now], then=[FAST])
    result = run("recheck", str(folder), worker=FakeWorker(answer=right))
    assert result.exit_code == 1
    assert "called, in graphs 2.00x fails no longer" in " ".join(result.stdout.split())


def test_a_wrong_kernel_is_status_one_and_not_timed(tmp_path: Path) -> None:
    def wrong(candidate: Any, purpose: str) -> Evaluation:
        return Evaluation(status=Status.WRONG, reason="off by one")

    status, document = recheck(package(tmp_path, []), answer=wrong)
    assert status == 1
    assert (document["right"], document["timed"]) == (False, None)


def test_on_another_machine_only_whether_it_is_right_can_be_said(tmp_path: Path) -> None:
    folder = package(tmp_path, [], device="Another GPU")
    result = run("recheck", str(folder), worker=FakeWorker(answer=right))
    assert result.exit_code == 2
    assert "measured on Another GPU, and this is Fake GPU" in result.stderr
    assert recheck(folder, "--no-timing")[0] == 0


def test_where_nothing_was_measured_right_is_enough(tmp_path: Path) -> None:
    status, document = recheck(write(op_files(softmax()), tmp_path))
    assert status == 0
    assert (document["right"], document["faster"]) == (True, None)


def test_what_was_edited_after_the_export_is_named_and_judged_as_it_is(tmp_path: Path) -> None:
    folder = package(tmp_path, [FAST, SLOW])
    kernel = folder / "fast_softmax" / "kernel.py"
    kernel.write_text(kernel.read_text() + "\n# mine\n")
    worker = FakeWorker(answer=right)
    document = json.loads(run("recheck", str(folder), "--json", worker=worker).stdout)
    assert document["edited"] == ["kernel.py"]


def test_what_is_no_package_is_said_in_one_line(tmp_path: Path) -> None:
    assert "holds 0 exported packages" in fault(run("recheck", str(tmp_path)))
    folder = write(op_files(softmax()), tmp_path)
    (folder / "fast_softmax" / "wins.json").unlink()
    assert "is not a whole package" in fault(run("recheck", str(folder)))
