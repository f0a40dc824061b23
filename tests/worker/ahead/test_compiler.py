"""Baselines are compiled before they are timed: what a judge prepares later is found in Inductor's caches."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor import config
from torch._inductor.runtime import benchmarking
from torch._inductor.select_algorithm import AlgorithmSelectorCache

from kernelwright.model import Case
from kernelwright.worker.ahead import compiler
from kernelwright.worker.ahead.compiler import compile_one
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


class CountedLease:
    """A lease that knows how often it was taken, and whether it is held."""

    taken, held = 0, 0

    def __enter__(self) -> None:
        self.taken += self.held == 0
        self.held += 1

    def __exit__(self, *_: object) -> None:
        self.held -= 1


def test_inductor_holds_the_lease_while_it_measures_and_once_for_all_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    lease, held = CountedLease(), list[int]()

    def measure(*_: object, **__: object) -> float:
        held.append(lease.held)
        return 1.0

    def choices(_: type, count: int) -> list[float]:
        return [benchmarking.benchmarker.benchmark_gpu(None) for _ in range(count)]

    monkeypatch.setattr(config, "compile_threads", 8)
    monkeypatch.setattr(benchmarking.benchmarker, "benchmark_gpu", measure)
    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_in_current_process", classmethod(choices))
    compiler.prepare(lease)  # type: ignore[arg-type]
    assert AlgorithmSelectorCache.benchmark_in_current_process(3) == [1.0] * 3  # type: ignore[arg-type, call-arg, comparison-overlap]
    assert (lease.taken, lease.held) == (1, 0)
    assert benchmarking.benchmarker.benchmark_gpu(None) == 1.0
    assert (lease.taken, lease.held, len(held)) == (2, 0, 4)
    assert min(held) > 0
