"""Constants of kernels that functions compute: which are asked for, and what a recording's word is used for."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.constants import LONGEST, computed_constants, with_constants
from kernelwright.worker.rules.normal import normal_form

SOURCE = """
import torch
import triton
import triton.language as tl

def factor(n):
    return sum(range(n)) * 0.5

def other():
    return "text"

FACTOR: tl.constexpr = tl.constexpr(factor(3))
SECOND = tl.constexpr(factor(4))
UNUSED = factor(5)
PLAIN: tl.constexpr = 3

@triton.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(out_ptr + lanes, x * FACTOR + SECOND * PLAIN, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    scaled[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


def findings(source: str) -> list[str]:
    return [str(finding) for finding in triton.check(source).findings]


def test_constants_that_functions_compute_are_asked_for_and_written_as_literals() -> None:
    assert computed_constants(SOURCE) == ("FACTOR", "SECOND")
    assert findings(normal_form(SOURCE)) != []
    made = normal_form(with_constants(SOURCE, {"FACTOR": "1.5", "SECOND": "3.0"}, ("FACTOR", "SECOND")))
    assert findings(made) == []
    assert "FACTOR: tl.constexpr = tl.constexpr((1.5))" in made
    assert "def factor" not in made


@pytest.mark.parametrize("said", [
    "__import__('os')", "[1]", "None", "1 + 1", "tl.float32", "'a' * 3", "nan", "1.5\n", "'" + "a" * LONGEST + "'", "",
])  # fmt: skip
def test_what_is_no_number_and_no_text_is_not_taken(said: str) -> None:
    assert with_constants(SOURCE, {"FACTOR": said}, ("FACTOR",)) == SOURCE


def test_only_what_was_asked_for_is_replaced() -> None:
    assert with_constants(SOURCE, {"PLAIN": "4", "BLOCK": "1", "scaled": "2"}, ("FACTOR", "SECOND")) == SOURCE


def test_infinity_is_a_number() -> None:
    assert "tl.constexpr((-1e999))" in with_constants(SOURCE, {"FACTOR": "-inf"}, ("FACTOR",))


@pytest.mark.parametrize("line", ["FACTOR = 2", "for FACTOR in (1, 2): pass", "import math as FACTOR"])
def test_a_name_that_is_bound_twice_is_not_asked_for(line: str) -> None:
    assert "FACTOR" not in computed_constants(f"{SOURCE}\n{line}\n")
