"""Baselines are compiled before they are timed: what a judge prepares later is found in Inductor's caches."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor import config, cpu_vec_isa
from torch._inductor.runtime import benchmarking
from torch._inductor.select_algorithm import AlgorithmSelectorCache

from kernelwright.model import Case
from kernelwright.worker.ahead import compiler
from kernelwright.worker.ahead.compiler import compile_one
from kernelwright.worker.ahead.messages import CompileAhead
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


def test_what_was_compiled_on_fake_tensors_is_found_when_it_is_needed(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = load_problem(str(tmp_path / "problem.py"))
    monkeypatch.setattr(config, "cpp_cache_precompile_headers", False)  # one kernel is compiled, in this test only
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", list)  # Inductor tries vector instructions for 9 s
    counters.clear()
    compile_one(problem, case, "compile", "cpu")
    assert counters["inductor"]["fxgraph_cache_miss"] == 1
    instance = problem.instance(case, seed=5)
    args, named = instance.called()
    with torch.no_grad():
        made = compiled(instance.module, "compile")(*args, **named)
    assert counters["inductor"]["fxgraph_cache_hit"] == 1
    assert counters["inductor"]["fxgraph_cache_miss"] == 1
    torch.testing.assert_close(made, instance.module(*args, **named))


def test_a_graph_that_inductor_would_measure_is_not_in_its_cache(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measuring(*_: object) -> None:
        raise compiler.Measuring

    problem = load_problem(str(tmp_path / "problem.py"))
    monkeypatch.setattr(importlib.import_module("torch._inductor.graph").GraphLowering, "codegen", measuring)
    counters.clear()
    for _ in range(2):
        compile_one(problem, case, "compile", "cpu")
    assert (counters["inductor"]["fxgraph_cache_miss"], counters["inductor"]["fxgraph_cache_hit"]) == (2, 0)


@pytest.mark.parametrize(("name", "tunes"), [("compile", False), ("compile_max_autotune", True)])
def test_each_mode_has_its_own_options_and_where_inductor_would_measure_the_next_graph_follows(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch, name: str, tunes: bool
) -> None:
    asked: list[tuple[Any, torch.dtype]] = []

    def measuring(graph: torch.fx.GraphModule, given: list[torch.Tensor], config_patches: Any) -> None:
        asked.append((config_patches, given[-1].dtype))
        raise compiler.Measuring

    file = tmp_path / "two_graphs.py"
    file.write_text(PROBLEM.replace("return torch.relu", "torch._dynamo.graph_break()\n        return torch.relu"))
    file.write_text(file.read_text().replace("        torch._dynamo", "        x = x + 1\n        torch._dynamo"))
    monkeypatch.setattr(importlib.import_module("torch._inductor.compile_fx"), "compile_fx", measuring)
    compile_one(load_problem(str(file)), msgspec.structs.replace(case, dtype="bfloat16"), name, "cpu")
    assert len(asked) == 2
    for options, dtype in asked:
        assert dtype == torch.bfloat16
        assert options["max_autotune"] if tunes else options is None


def test_what_inductor_would_measure_is_compiled_in_threads_and_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []

    def precompile(_: object, number: int) -> Callable[[], None]:
        threads: int = config.compile_threads
        return lambda: waited.append(100 * number + threads)

    def measure(*_: object) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr(config, "compile_threads", 8)
    monkeypatch.setattr(AlgorithmSelectorCache, "make_precompile_fn", precompile)
    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_in_current_process", classmethod(measure))
    monkeypatch.setattr(benchmarking.benchmarker, "benchmark_gpu", measure)
    compiler.stop_before_measuring()
    cache: Any = AlgorithmSelectorCache()
    for number in (1, 2):
        cache.make_precompile_fn(number)
    with pytest.raises(compiler.Measuring):
        cache.benchmark_in_current_process([])
    assert sorted(waited) == [101, 201]
    with pytest.raises(compiler.Measuring):
        benchmarking.benchmarker.benchmark_gpu(None)
    assert config.compile_threads == 8


def test_a_baseline_that_fails_is_named_and_the_next_one_follows(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_one(*_: object) -> None:
        raise ValueError("odd")

    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "0")
    monkeypatch.setattr(compiler, "stop_before_measuring", lambda: None)
    monkeypatch.setattr(compiler, "compile_one", compile_one)
    job = CompileAhead(
        path=str(tmp_path / "problem.py"), cases=(case,), wanted=("timed",), names=("compile", "other"),
        device="cpu", cores=3,
    )  # fmt: skip
    assert compiler.compile_ahead(job) == [f"{name}, case timed: ValueError: odd" for name in ("compile", "other")]
    assert os.environ["TORCHINDUCTOR_COMPILE_THREADS"] == "3"
