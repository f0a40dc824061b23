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


def package(
    folder: Path,
    today: list[dict[str, Any]],
    device: str | None = ENVIRONMENT.device,
    then: list[dict[str, Any]] | None = None,
) -> Path:
    """An export measured on the fake GPU: by default faster on one size, slower on another. today: what it would
    measure."""
    write(op_files(softmax()), folder)
    home = folder / "fast_softmax"
    known = {"schema_version": 1, "device": device, "torch": "2.8.0", "triton": "3.4.0"}
    (home / "wins.json").write_text(json.dumps(known | {"cases": [FAST, SLOW] if then is None else then}))
    (home / "today.json").write_text(json.dumps(known | {"cases": today}))
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


def in_graphs(kernel_us: float, call_us: float = 40.0) -> dict[str, Any]:
    """A size that is used in graphs only: on the device the kernel takes `kernel_us`, and PyTorch 20."""
    pair = {"call_us": call_us, "device_us": kernel_us}, {"call_us": 30.0, "device_us": 20.0}
    lost, won = dict.fromkeys(("eager", "compiled"), "not faster by enough in call_us"), {"eager": "faster"}
    case = win([[16, 64]], 1.0, 1.0, kernel=pair[0], eager=pair[1], why=lost, why_in_graphs=won)
    return {name: value for name, value in case.items() if name not in ("kernel_compiled", "compile")}


def test_a_size_that_is_used_in_graphs_only_has_to_be_still_faster_on_the_device(tmp_path: Path) -> None:
    status, document = recheck(package(tmp_path, [in_graphs(15.0, call_us=90.0)], then=[in_graphs(10.0)]))
    assert (status, document["faster"]) == (0, True)
    rows = {(one["use"], one["used"]): (one["then"], one["faster"]) for one in document["timed"]}
    assert rows == {("calls", False): (0.75, False), ("graphs", True): (2.0, True)}
    (tmp_path / "slower").mkdir()
    status, document = recheck(package(tmp_path / "slower", [in_graphs(21.0)], then=[in_graphs(10.0)]))
    assert (status, document["faster"]) == (1, False)


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


def test_a_package_made_before_it_could_be_used_in_graphs_is_not(tmp_path: Path) -> None:
    before = {name: value for name, value in FAST.items() if name != "why_in_graphs"}
    _, document = recheck(package(tmp_path, [FAST], then=[before]))
    assert {(one["use"], one["used"]) for one in document["timed"]} == {("calls", True), ("graphs", False)}


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
