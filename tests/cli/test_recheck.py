"""`recheck`: still right, still faster? The worker is fake, and the package's benchmark answers from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from command_line import fault, run
from exported import softmax, win, write
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.export.op import op_files
from kernelwright.model import Evaluation, Status

BENCHMARK = """
import pathlib, shutil, sys

shutil.copyfile(pathlib.Path(__file__).with_name("today.json"), sys.argv[sys.argv.index("--json") + 1])
"""

FAST, SLOW = win([[64, 64]], 10.0, 20.0), win([[8, 64]], 20.0, 10.0)


def package(folder: Path, today: list[dict[str, Any]], device: str | None = ENVIRONMENT.device) -> Path:
    """An export measured on the fake GPU: faster on one size, slower on another. today: what it would measure."""
    write(op_files(softmax()), folder)
    home = folder / "fast_softmax"
    then = {"schema_version": 1, "device": device, "torch": "2.8.0", "triton": "3.4.0", "cases": [FAST, SLOW]}
    (home / "wins.json").write_text(json.dumps(then))
    (home / "today.json").write_text(json.dumps(then | {"cases": today}))
    (home / "benchmark.py").write_text(BENCHMARK)
    (home / "__init__.py").write_text("")  # without torch, so that each test takes no seconds
    return folder


def right(candidate: Any, purpose: str) -> Evaluation:
    return Evaluation(status=Status.PASSED, verified_on="device")


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
    assert [one["used"] for one in document["timed"]] == [True, True, False, False]


def test_a_size_that_is_used_and_now_slower_is_status_one(tmp_path: Path) -> None:
    status, document = recheck(package(tmp_path, [win([[64, 64]], 21.0, 20.0), SLOW]))
    assert status == 1
    assert (document["right"], document["faster"]) == (True, False)


def test_a_size_that_fails_now_is_no_longer_faster(tmp_path: Path) -> None:
    status, document = recheck(package(tmp_path, [SLOW]))
    assert status == 1
    assert document["timed"][0]["now"] is None


def test_a_size_that_pytorch_serves_may_get_slower_still(tmp_path: Path) -> None:
    assert recheck(package(tmp_path, [FAST, win([[8, 64]], 90.0, 10.0)]))[0] == 0


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


def test_it_is_judged_in_the_dtype_in_which_it_was_found_right(tmp_path: Path) -> None:
    write(op_files(replace(softmax(), dtype="float16")), tmp_path)
    worker = FakeWorker(answer=right)
    run("recheck", str(tmp_path), "--no-timing", worker=worker)
    assert worker.dtypes == ["float16"]
