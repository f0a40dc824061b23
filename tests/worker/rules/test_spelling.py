"""Steps that bring a candidate to one spelling of Triton's language."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(out_ptr + lanes, x, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


def with_body(line: str, head: str = "") -> str:
    return head + KERNEL.replace("    tl.store", f"    {line}\n    tl.store")


@pytest.mark.parametrize(("head", "line"), [
    ("import triton.language.core as core\n", "x = core.where(lanes < n, x, core.zeros_like(x))"),
    ("from triton.language import core\n", "x = core.cast(x, core.float32)"),
    ("from triton.language.core import where as choose\n", "x = choose(lanes < n, x, 0.0)"),
    ("from triton.language.standard import _log2, zeros_like\n", "x = x + zeros_like(x) * _log2(BLOCK)"),
    ("", "x = tl.core.cast(x, tl.core.float32)"),
    ("", "y: tl.core.constexpr = BLOCK"),
])  # fmt: skip
def test_a_part_of_the_language_is_the_language(head: str, line: str) -> None:
    source = with_body(line, head)
    assert findings(source) != []
    made = normal_form(source)
    assert findings(made) == []
    assert made.count("\n") == source.count("\n")


@pytest.mark.parametrize(("head", "line"), [
    ("import triton.language.core as core\n", "x = core._to_tensor(x)"),
    ("import triton.language.core as core\n", "x = core._unwrap_if_constexpr"),
    ("import triton.language.core as core\n", "x = core._unwrap_if_constexpr(core.os)"),
    ("import triton.language.core as core\n", "x = core._unwrap_if_constexpr(core.builtins.open('x'))"),
    ("import triton.language.core as core\n", "x = core.str_to_ty('fp32', None)"),
    ("import triton.language.core as core\n", "x = core.builtins.open('x')"),
    ("import triton.language.core as core\n", "x = core.os"),
    ("from triton.language.core import str_to_ty\n", "x = str_to_ty('fp32', None)"),
    ("from triton.language.standard import sort_impl\n", "x = sort_impl(x)"),
    ("from triton.language.standard import *\n", "x = sum(x)"),
    ("", "x = tl.standard.core.builtins"),
    ("", "x = tl.core.str_to_ty('fp32', None)"),
])  # fmt: skip
def test_what_the_language_refuses_is_refused_of_its_parts(head: str, line: str) -> None:
    assert findings(normal_form(with_body(line, head))) != []


def test_a_second_name_of_a_kernel_is_the_kernel() -> None:
    fast = "\n@triton.jit\ndef double_fast(x):\n    return x + x\n\ndouble = double_fast\n"
    source = with_body("x = double(x)").replace("\n@triton.jit", f"{fast}\n@triton.jit", 1)
    assert findings(source) != []
    made = normal_form(source)
    assert "x = (double_fast)(x)" in made
    assert findings(made) == []
    twice = source.replace("double = double_fast\n", "double = double_fast\ndouble = copy\n")
    assert findings(normal_form(twice)) != []


def test_a_name_of_the_kernels_own_is_left_alone() -> None:
    source = with_body("double = x + x", "").replace("\n@triton.jit", "\ndouble = copy\n\n@triton.jit", 1)
    assert "double = x + x" in normal_form(source)
    assert "(copy)" not in normal_form(source)
