"""Profiles by a real worker on a machine without a GPU: what the compiler knows, and why nothing else is known."""

from __future__ import annotations

import pytest

from evaluated import StartedWorker
from kernelwright.errors import ConfigError, MachineError, ProblemError, RequestError
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate
from on_device import KERNEL, PROBLEM


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, shared_worker: StartedWorker) -> ProcessWorker:
    path = tmp_path_factory.mktemp("problem") / "problem.py"
    path.write_text(PROBLEM)
    worker = shared_worker()
    if worker.environment().device is not None:
        pytest.skip("this is about machines without a GPU")
    worker.load(str(path))
    return worker


def test_the_compiler_says_how_a_launch_fills_the_device_and_how_wide_its_accesses_are(worker: ProcessWorker) -> None:
    found = worker.profile(Candidate(source=KERNEL), "large")
    assert (found.tool, found.device, found.target) == (None, None, "sm_90")
    assert found.not_used == {"ncu": "there is no GPU here", "torch.profiler": "there is no GPU here"}
    (launch,) = found.launches
    assert (launch.kernel, launch.grid, launch.block) == ("double_kernel", (1024, 1, 1), (128, 1, 1))
    assert launch.value("code_global_load_width") == 16.0
    assert launch.value("spills") == 0
    assert launch.value("waves") == pytest.approx(1024 / (132 * 16))
    assert launch.value("dram_read") is None


def test_the_same_code_on_the_same_case_is_profiled_once(worker: ProcessWorker) -> None:
    first = worker.profile(Candidate(source=KERNEL), "large")
    commented = worker.profile(Candidate(source=KERNEL + "# the same code\n"), "large")
    assert commented.key == first.key
    assert worker.profile(Candidate(source=KERNEL), "small").key != first.key


def test_a_candidate_that_does_not_compile_or_parse_is_the_requests_fault(worker: ProcessWorker) -> None:
    with pytest.raises(RequestError, match="cannot be profiled: compile_error"):
        worker.profile(Candidate(source=KERNEL.replace("x * 2", "tl.dot(x, x)")), "large")
    with pytest.raises(RequestError, match="cannot be profiled"):
        worker.profile(Candidate(source="def ("), "large")


def test_what_is_not_there_is_said(worker: ProcessWorker) -> None:
    with pytest.raises(ProblemError, match="no case 'huge'"):
        worker.profile(Candidate(source=KERNEL), "huge")
    with pytest.raises(MachineError, match="no GPU"):
        worker.profile("eager", "large")
    with pytest.raises(ConfigError, match="known: eager, compile"):
        worker.profile("magic", "large")
