"""Checking an exported package again, called from Python: what is timed, and what of it decides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exported import softmax, win, write
from fakes import FakeWorker
from kernelwright.errors import MachineError, RequestError
from kernelwright.export.op import op_files
from kernelwright.jobs.recheck import Recheck, recheck
from kernelwright.jobs.worker import Desk
from rechecked import FAST, SLOW, in_graphs, package, right
from started import starting

pytestmark = pytest.mark.process


def recheck_fake(folder: Path, answer: Any = right, timing: bool = True) -> Recheck:
    return recheck(folder, timing=timing, desk=Desk(pytest.fail, starting(FakeWorker(answer=answer))))


def test_what_the_benchmark_writes_is_notified_and_its_failure_is_the_machine_s(tmp_path: Path) -> None:
    folder = package(tmp_path, [])
    (folder / "fast_softmax" / "benchmark.py").write_text("print('out of memory')\nraise SystemExit(1)\n")
    notes: list[str] = []
    worker = FakeWorker(answer=right)
    with pytest.raises(MachineError, match="the benchmark of fast_softmax failed"):
        recheck(folder, desk=Desk(notes.append, starting(worker)))
    assert notes == ["out of memory"]
    assert worker.closed


def test_the_kernel_may_hold_the_library_steps_that_it_might_when_it_was_exported(tmp_path: Path) -> None:
    given = softmax()
    exported = replace(given, evaluation=msgspec.structs.replace(given.evaluation, library="any"))
    files = op_files(exported)
    assert "LIBRARY = 'any'" in files["README.md"]
    assert json.loads(files["fast_softmax/wins.json"])["library"] == "any"
    write(files, tmp_path)
    worker = FakeWorker(answer=right)
    recheck(tmp_path, timing=False, desk=Desk(pytest.fail, starting(worker)))
    place = tmp_path / "fast_softmax" / "provenance.json"
    provenance = json.loads(place.read_text())
    assert worker.libraries == ["any"]
    del provenance["problem"]["library"]
    place.write_text(json.dumps(provenance))
    with pytest.raises(RequestError, match="not a whole package"):
        recheck(tmp_path, timing=False, desk=Desk(pytest.fail, starting(worker)))


def test_a_size_that_is_used_in_graphs_only_has_to_be_still_faster_on_the_device(tmp_path: Path) -> None:
    found = recheck_fake(package(tmp_path, [in_graphs(15.0, call_us=90.0)], then=[in_graphs(10.0)]))
    assert found.faster
    assert found.timed is not None
    rows = {(one.use, one.used): (one.then, one.faster) for one in found.timed}
    assert rows == {("calls", False): (0.75, False), ("graphs", True): (2.0, True)}
    (tmp_path / "slower").mkdir()
    found = recheck_fake(package(tmp_path / "slower", [in_graphs(21.0)], then=[in_graphs(10.0)]))
    assert found.faster is False


def test_a_package_made_before_it_could_be_used_in_graphs_is_not(tmp_path: Path) -> None:
    before = {name: value for name, value in FAST.items() if name != "why_in_graphs"}
    found = recheck_fake(package(tmp_path, [FAST], then=[before]))
    assert found.timed is not None
    assert {(one.use, one.used) for one in found.timed} == {("calls", True), ("graphs", False)}


def test_a_size_that_fails_now_is_no_longer_faster(tmp_path: Path) -> None:
    found = recheck_fake(package(tmp_path, [SLOW]))
    assert found.faster is False
    assert found.timed is not None
    assert found.timed[0].now is None


def test_a_size_that_pytorch_serves_may_get_slower_still(tmp_path: Path) -> None:
    assert recheck_fake(package(tmp_path, [FAST, win([[8, 64]], 90.0, 10.0)])).faster


def test_it_is_judged_in_the_dtype_in_which_it_was_found_right(tmp_path: Path) -> None:
    write(op_files(replace(softmax(), problem=msgspec.structs.replace(softmax().problem, dtype="float16"))), tmp_path)
    worker = FakeWorker(answer=right)
    recheck(tmp_path, timing=False, desk=Desk(pytest.fail, starting(worker)))
    assert worker.dtypes == ["float16"]
