"""Refusals in place of kernels' branches that break a rule, on the text alone."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.uncompiled import Uncompiled, without_broken

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x):
    return x * SCALE

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


def source_of(line: str) -> str:
    return KERNEL.replace("    return x * SCALE", "    return x * 2").format(line=line.replace("\n", "\n    "))


def refused(source: str) -> Uncompiled:
    return without_broken(source, triton.check(source).findings)


@pytest.mark.parametrize("line", [
    "if n: x = y(x)", "if n:\n    x = y(x)\nelse:\n    x = z(x)", "if n:\n    pass\nelif m:\n    x = y(x)",
    "if n:\n    x = (x,\n         y(x))", "if n:\n    if n:\n        x = y(x)\n    else:\n        x += z",
    "if n:\n    import y", "if n:\n    raise y(x)",
    "if n:\n    x = x.y\n    x = y(x)", "while n:\n    if n:\n        x.y = x",
])  # fmt: skip
def test_a_branch_that_breaks_a_rule_is_replaced_and_lines_keep_their_numbers(line: str) -> None:
    source = source_of(line)
    found = refused(source)
    assert found.source.count("\n") == source.count("\n")
    assert "tl.static_assert(False, " in found.source
    assert "not judged: line 1" in found.source
    assert "y(x)" not in found.source
    assert triton.check(found.source).findings == ()
    assert set(found.findings) == set(triton.check(source).findings)


def test_the_innermost_branch_is_replaced_and_named() -> None:
    found = refused(source_of("if n:\n    x += 1\n    if x:\n        x = y(x)\nelse:\n    x += 2"))
    assert found.conditions == ("line 17: x",)
    assert "x += 1" in found.source
    assert "x += 2" in found.source
    assert refused(source_of("if n:\n    x = x\nelse:\n    x = y(x)")).conditions == ("line 17: not (n)",)


@pytest.mark.parametrize("line", [
    "x = y(x)", "if n:\n    x = y(x)\nx = z(x)", "if y(x):\n    x = x", "for i in range(n):\n    x = y(x)",
    "while n:\n    x = y(x)", "x = y(x) if n else x",
])  # fmt: skip
def test_a_text_with_a_finding_outside_of_branches_is_left_alone(line: str) -> None:
    source = source_of(line)
    assert triton.check(source).findings != ()
    assert refused(source) == Uncompiled(source)


def test_the_body_of_a_kernel_is_a_branch_unless_host_code_names_it() -> None:
    source = KERNEL.format(line="if n:\n        x = scaled(x)")
    assert refused(source).conditions == ("line 8: scaled() is called",)
    assert "    tl.static_assert(False" in refused(source).source
    launched = source.replace("copy[(1,)](x", "scaled[(1,)](x)\n    copy[(1,)](x")
    assert refused(launched) == Uncompiled(launched)


def test_findings_in_host_code_and_texts_without_triton_are_left_alone() -> None:
    source = source_of("x += 1").replace("    return out", "    if x.dim() > 3:\n        x.tolist()\n    return out")
    findings = triton.check(source).findings
    assert findings != ()
    assert without_broken(source, findings) == Uncompiled(source)
    other = "import triton\n@triton.jit\ndef one(x):\n    if x:\n        y(x)\n"
    assert without_broken(other, [Finding(5, "breaks a rule")]) == Uncompiled(other)
