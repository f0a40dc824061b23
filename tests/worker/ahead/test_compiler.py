"""Baselines are compiled before they are timed: what a judge prepares later is found in Inductor's caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.runtime import benchmarking
from torch._inductor.select_algorithm import AlgorithmSelectorCache

from kernelwright.model import Case
from kernelwright.worker.ahead import compiler
from kernelwright.worker.ahead.compiler import compile_one
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.processes.lease import Lease
from kernelwright.worker.reference.baseline import compiled
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)).sum(1)

CASES = [dict(name="timed", rows=16)]

def get_inputs(rows):
    return [torch.randn(rows, 8)]

def get_init_inputs():
    return []
"""


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM)
    return load_problem(str(file)).cases[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.jit, which Inductor imports
def test_what_was_compiled_on_fake_tensors_is_found_when_it_is_needed(tmp_path: Path, case: Case) -> None:
    problem = load_problem(str(tmp_path / "problem.py"))
    counters.clear()
    compile_one(problem, case, None, "compile", "cpu")
    assert counters["inductor"]["fxgraph_cache_miss"] == 1
    instance = problem.instance(case, seed=5)
    args, named = instance.called()
    with torch.no_grad():
        made = compiled(instance.module, "compile")(*args, **named)
    assert counters["inductor"]["fxgraph_cache_hit"] == 1
    assert counters["inductor"]["fxgraph_cache_miss"] == 1
    torch.testing.assert_close(made, instance.module(*args, **named))


def test_inductor_takes_the_lease_to_measure_and_keeps_it_where_kernels_are_measured_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lease, held = Lease(None), list[bool]()

    def measure(*_: object, **__: object) -> float:
        held.append(lease.is_held)
        return 1.0

    def choices(_: type, count: int) -> list[float]:
        return [benchmarking.benchmarker.benchmark_gpu(None) for _ in range(count)]

    def precompile(_: object) -> int:
        threads: int = config.compile_threads
        return threads

    monkeypatch.setattr(config, "compile_threads", 8)
    monkeypatch.setattr(AlgorithmSelectorCache, "make_precompile_fn", precompile)
    monkeypatch.setattr(benchmarking.benchmarker, "benchmark_gpu", measure)
    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_in_current_process", classmethod(choices))
    compiler.prepare(lease)
    precompiled: Any = AlgorithmSelectorCache().make_precompile_fn
    measured: Any = AlgorithmSelectorCache.benchmark_in_current_process
    assert measured(3) == [1.0] * 3
    assert not lease.is_held
    assert [benchmarking.benchmarker.benchmark_gpu(None) for _ in range(2)] == [1.0] * 2
    assert lease.is_held
    lease.release()
    assert not lease.is_held
    assert held == [True] * 5
    assert precompiled() == 1
    assert config.compile_threads == 8


def test_after_each_baseline_the_lease_is_released(tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    lease, held = Lease(None), list[bool]()

    def compile_one(*_: object) -> None:
        held.append(lease.is_held)
        lease.acquire()
        raise ValueError("odd")

    monkeypatch.setattr(compiler, "Lease", lambda gpu: lease)
    monkeypatch.setattr(compiler, "prepare", lambda lease: None)
    monkeypatch.setattr(compiler, "compile_one", compile_one)
    job = CompileAhead(
        path=str(tmp_path / "problem.py"), cases=(case,), wanted={"timed": None}, names=("compile", "other"),
        device="cpu", gpu=None,
    )  # fmt: skip
    assert compiler.compile_ahead(job) == [f"{name}, case timed: ValueError: odd" for name in ("compile", "other")]
    assert held == [False, False]
    assert not lease.is_held
