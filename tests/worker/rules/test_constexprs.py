"""Functions that Triton calls while it compiles, put in where they are called."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

KERNEL = """
import torch
import triton
import triton.language as tl

{functions}

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    {line}
    tl.store(out_ptr + lanes, x, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""

WIDE = """
@tl.constexpr
def wide(dtype: tl.dtype) -> tl.dtype:
    '''The type to add in.'''
    if dtype.is_fp16() or dtype.is_bf16():
        return tl.float32
    if dtype.is_int():
        return tl.int64
    else:
        return dtype
"""

CALL = "x = x.to(wide(x_ptr.dtype.element_ty))"


def made_of(functions: str, line: str) -> str:
    """The normal form of the kernel, which the rules accept and whose lines have kept their numbers."""
    source = KERNEL.format(functions=functions, line=line)
    assert findings(source) != []
    made = normal_form(source)
    assert findings(made) == []
    assert made.count("\n") == source.count("\n")
    return made


@pytest.mark.parametrize("above", ["@tl.constexpr", "@triton.constexpr_function"])
def test_branches_that_return_are_a_conditional_expression(above: str) -> None:
    made = made_of(WIDE.replace("@tl.constexpr", above), CALL)
    of = "x_ptr.dtype.element_ty"
    value = f"tl.float32 if {of}.is_fp16() or {of}.is_bf16() else tl.int64 if {of}.is_int() else {of}"
    assert f"x = x.to(({value}))" in made
    assert "def wide" not in made


def test_a_call_in_a_call_and_a_function_that_calls_another_are_put_in() -> None:
    more = "\n@tl.constexpr\ndef half(n, by=2, *, add=0):\n    return n // by + add\n"
    most = "\n@tl.constexpr\ndef quarter(n):\n    return half(half(n), add=1)\n"
    made = made_of(more + most, "x = x * quarter(BLOCK)")
    assert "def half" not in made
    assert "def quarter" not in made
    line = next(line for line in made.splitlines() if "x = x * " in line)
    for block in (256, 7):
        assert eval(line.partition("*")[2], {"BLOCK": block}) == block // 2 // 2 + 1


@pytest.mark.parametrize(("function", "line"), [
    ("@tl.constexpr\ndef wide(n):\n    m = n + 1\n    return m", "x = x * wide(BLOCK)"),
    ("@tl.constexpr\ndef wide(n):\n    return wide(n - 1) if n else 1", "x = x * wide(BLOCK)"),
    ("@tl.constexpr\ndef wide(*n):\n    return n[0]", "x = x * wide(BLOCK)"),
    ("@tl.constexpr\ndef wide(n):\n    return n + UNIT\nUNIT: tl.constexpr = 1",
     "UNIT = 2.0; x = x * wide(BLOCK) * UNIT"),
])  # fmt: skip
def test_what_is_no_expression_or_would_mean_another_name_is_a_kernel(function: str, line: str) -> None:
    made = normal_form(KERNEL.format(functions=function, line=line))
    assert "return triton.language.constexpr(" in made
    assert line in made


def test_calls_in_calls_do_not_grow_beyond_measure() -> None:
    doubled = "@tl.constexpr\ndef twice(n):\n    return n + n\n"
    made = normal_form(KERNEL.format(functions=doubled, line=f"x = x * {'twice(' * 18}BLOCK{')' * 18}"))
    assert len(made) < 60_000


@pytest.mark.parametrize("wrong", ["open('x')", "dtype.__class__", "__import__('os')", "torch.empty(1)"])
def test_what_is_put_in_is_checked(wrong: str) -> None:
    source = KERNEL.format(functions=WIDE.replace("tl.int64", wrong), line=CALL)
    assert findings(normal_form(source)) != []
