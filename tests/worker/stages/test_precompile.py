"""The verb `compile` of a real worker: resources or a failure, nothing verified, nothing timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from evaluated import StartedWorker
from kernelwright.errors import ProblemError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, KernelResources, Loading, Status
from kernelwright.problems import find_problem, new_problem

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")
pytest.importorskip("triton", reason="the worker needs Triton: pip install -e '.[worker]'")

from kernelwright.worker.stages.precompile import unfit

GALLERY = Path(__file__).resolve().parents[3] / "gallery"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    problem = new_problem("probe", tmp_path_factory.mktemp("precompile"))
    assert problem.starter is not None
    return problem.file, problem.starter.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def worker(probe: tuple[Path, str], no_compile_cache: None) -> Iterator[Worker]:
    with start_worker() as worker:
        worker.load(str(probe[0]))
        yield worker


def test_a_good_candidate_has_resources_and_no_verdict(worker: Worker, probe: tuple[Path, str]) -> None:
    found = worker.compile(Candidate(source=probe[1]), "search")
    assert found.status is Status.NOT_VERIFIED
    assert found.reason == "compiled, not run"
    assert (found.results, found.verified_on, found.score_us) == ((), None, None)
    assert found.kernels[0].registers > 0
    assert found.compiled is not None
    assert not {"verify", "time", "wait"} & found.stages_s.keys()


def test_what_compile_finds_is_what_an_evaluation_then_has(worker: Worker, probe: tuple[Path, str]) -> None:
    candidate = Candidate(source=probe[1])
    compiled, evaluated = worker.compile(candidate, "search"), worker.evaluate(candidate, "search")
    assert (compiled.compiled, compiled.kernels) == (evaluated.compiled, evaluated.kernels)


def test_what_cannot_compile_or_be_read_fails_without_being_run(worker: Worker, probe: tuple[Path, str]) -> None:
    broken = worker.compile(Candidate(source=probe[1].replace("scale * y", "tl.dot(y, y)")), "search")
    assert broken.status is Status.COMPILE_ERROR
    assert worker.compile(Candidate(source="def ("), "search").status is Status.COMPILE_ERROR
    unknown = worker.compile(Candidate(source=probe[1], config={"nothing": 1}), "search")
    assert unknown.status is Status.REJECTED
    assert "no tunable 'nothing'" in unknown.reason


RELU = """\
import torch
import torch.nn as nn

ROWS, COLS = 4096, 4096


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
"""

ROW_BY_ROW = """\
import torch
import triton
import triton.language as tl


@triton.jit
def row(x_ptr, out_ptr, cols: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=tl.arange(0, BLOCK) < cols)
    tl.store(out_ptr + at, tl.where(x < 0, 0.0, x), mask=tl.arange(0, BLOCK) < cols)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    row[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""


def test_sizes_that_only_the_interpreter_runs_are_not_compiled_to_machine_code(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    file = tmp_path / "relu.py"
    file.write_text(RELU)
    worker = shared_worker()
    cases = worker.load(str(file), Loading(which="derived")).cases
    assert len({info.case.params.get("COLS") for info in cases}) > 2
    found = worker.evaluate(Candidate(source=ROW_BY_ROW), "verify")
    assert found.status is Status.PASSED, found.reason
    assert found.compiled is not None
    every = len({(one.kernel, one.cubin_sha) for one in found.kernels})
    assert every == 1 or found.verified_on == "device"


def test_only_the_named_cases_are_scored_and_an_unknown_one_is_refused(shared_worker: StartedWorker) -> None:
    softmax = find_problem(str(GALLERY / "softmax"))
    assert softmax.starter is not None
    worker = shared_worker()
    every = worker.load(str(softmax.file))
    scored = [info.case.name for info in every.cases if info.case.timed]
    some = worker.load(str(softmax.file), Loading(cases=(scored[-1],)))
    assert [info.case.name for info in some.cases if info.case.timed] == [scored[-1]]
    untimed = [info.case.name for info in every.cases if not info.case.timed]
    assert [info.case.name for info in some.cases if not info.case.timed] == untimed
    evaluation = worker.evaluate(Candidate(source=softmax.starter.read_text()), "search")
    assert [result.case for result in evaluation.results if result.timing is not None] == [scored[-1]]
    with pytest.raises(ProblemError, match="no timed case 'huge'"):
        worker.load(str(softmax.file), Loading(cases=("huge",)))


def test_resources_that_no_launch_could_have_are_refused() -> None:
    kernel = KernelResources(
        kernel="k", target="sm_90", registers=255, spill_bytes=0, shared_bytes=0, num_warps=8, num_stages=1,
        occupancy=0.125, limited_by="registers", cubin_sha="a",
    )  # fmt: skip
    assert unfit(kernel) is None
    assert "255 registers in each of 512 threads" in (unfit(changed(kernel, num_warps=16, occupancy=0.0)) or "")
    assert "2048 threads per block" in (unfit(changed(kernel, num_warps=64)) or "")


def changed(kernel: KernelResources, **fields: object) -> KernelResources:
    return msgspec.structs.replace(kernel, **fields)
