"""Problems whose tensors are in lists, tuples and dicts, and arguments by name: a kernel gets and returns the same."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from evaluated import StartedWorker
from kernelwright.errors import ProblemError
from kernelwright.model import Candidate, Status
from kernelwright.worker.reference.instance import outputs
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch
import torch.nn as nn

MUTATES = ("cache",)
CASES = [dict(name="timed", rows=301), dict(name="small", small=True, rows=5)]

class Model(nn.Module):
    def forward(self, states, cache, *, scale):
        cache["k"].copy_(states[0] * scale["by"])
        return {"sum": states[0] + states[1][0], "parts": (states[1][0] * scale["by"], None)}

def get_inputs(rows=301):
    def draw():
        return torch.randn(rows, 20)
    return {"states": [draw(), (draw(),)], "cache": {"k": draw()}, "scale": {"by": 3.0}}

def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def both(x_ptr, y_ptr, k_ptr, sum_ptr, part_ptr, by, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    x = tl.load(x_ptr + place, mask=inside)
    y = tl.load(y_ptr + place, mask=inside)
    tl.store(k_ptr + place, x * by, mask=inside)
    tl.store(sum_ptr + place, x + y, mask=inside)
    tl.store(part_ptr + place, y * by, mask=inside)

def kernel_function(states, cache, *, scale):
    x, y, k = states[0], states[1][0], cache["k"]
    assert x.is_contiguous()
    assert y.is_contiguous()
    assert k.is_contiguous()
    total, part = torch.empty_like(x), torch.empty_like(x)
    both[(triton.cdiv(x.numel(), 256),)](x, y, k, total, part, scale["by"], x.numel(), BLOCK=256)
    return {"parts": (part, None), "sum": total}
"""
HEAD, _, BODY = KERNEL.partition("def kernel_function(states, cache, *, scale):\n")
MODEL_NEW = f"{HEAD}class ModelNew(torch.nn.Module):\n    def forward(self, states, cache, *, scale):\n"
MODEL_NEW += textwrap.indent(BODY, "    ")


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    file = tmp_path / "nested.py"
    file.write_text(PROBLEM)
    return file


def test_leaves_have_names_and_forward_gets_what_get_inputs_gives(problem: Path) -> None:
    made = load_problem(str(problem))
    instance = made.instance(made.cases[1], seed=1)
    assert instance.input_names == ("states.0", "states.1.0", "cache.k", "scale.by")
    assert instance.keywords == ("scale",)
    assert instance.mutates == ("cache.k",)
    with torch.no_grad():
        part, total, k = outputs(instance)
    x, y = (value for value in instance.inputs[:2] if isinstance(value, torch.Tensor))
    assert torch.equal(part, y * 3.0)
    assert torch.equal(total, x + y)
    assert torch.equal(k, x * 3.0)
    specs = made.specs(made.cases[1])
    assert specs.returns == "{'parts': (0, None), 'sum': 1}"


def test_a_kernel_is_called_as_forward_is_and_returns_what_it_returns(
    problem: Path, shared_worker: StartedWorker
) -> None:
    worker = shared_worker()
    worker.load(str(problem))
    for source in (KERNEL, MODEL_NEW):
        found = worker.evaluate(Candidate(source=source), "verify")
        assert found.status is Status.PASSED, found.reason
    flat = KERNEL.replace('{"parts": (part, None), "sum": total}', "(part, total)")
    found = worker.evaluate(Candidate(source=flat), "verify")
    assert found.status is Status.REJECTED
    assert "nested as {'parts': (0, None), 'sum': 1}" in found.reason
    wrong = {
        "parts": KERNEL.replace('"parts": (part, None)', '"parts": (total, None)'),
        "cache.k, changed in place": KERNEL.replace("x * by, mask", "y * by, mask"),
    }
    for said, source in wrong.items():
        found = worker.evaluate(Candidate(source=source), "verify")
        assert found.status is Status.WRONG
        assert said in found.reason or said == "parts"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (('"cache": {"k"', '"cache": {(1, 2)'), "keys are neither text nor whole numbers"),
        (('"cache": {"k"', '"cash": {"k"'), "cannot take the 3 values of get_inputs"),
        (('"cache": {"k": draw()}', '"cache": {"k": object()}'), "a object for cache.k"),
        (('return {"states"', 'return 7 and {7: 1, "states"'), "get_inputs returned a dict"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused_in_a_line(problem: Path, changed: tuple[str, str], said: str) -> None:
    assert changed[0] in PROBLEM
    problem.write_text(PROBLEM.replace(*changed))
    made = load_problem(str(problem))
    with pytest.raises(ProblemError, match=said):
        made.instance(made.cases[1], seed=1)
