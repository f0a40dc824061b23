"""Branches of kernels that break a rule, in a real worker: accepted where no launch compiles them."""

from __future__ import annotations

import pytest

from doubled import Judged, judged_texts
from evaluated import StartedWorker
from kernelwright.model import Status

KERNEL = """
import torch
import triton
import triton.language as tl
{top}

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, SCALED: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    {line}
    tl.store(out_ptr + lanes, x * 2, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256, SCALED=False)
    return out
"""


HELPER = "@triton.jit\ndef helper(x):\n    return scaled(x)"

DEEPER = "".join(
    f"\n\n@triton.jit\ndef {name}(x):\n"
    + "    x = x + (0.125 + 0.25) * (0.5 + 0.75)\n" * 12
    + f"    return {called}(x)"
    for name, called in (("deeper", "helper"), ("deepest", "deeper"))
)

UNCOMPILED = {
    "an undefined name": ("", "if SCALED:\n    x = x * SCALE"),
    "an undefined function": ("", "if SCALED:\n    x = scaled(x)\nelse:\n    x += 0"),
    "an else": ("", "if not SCALED:\n    x += 0\nelse:\n    x = scaled(x)"),
    "an elif": ("", "if not SCALED:\n    x += 0\nelif BLOCK > SCALE:\n    x = scaled(x)\nelse:\n    x = x * SCALE"),
    "a branch in a branch": ("", "if SCALED:\n    x += 1\n    if n > 5:\n        x = scaled(x)"),
    "another package": ("from vllm.ops import scaled", "if SCALED:\n    x = scaled(x)"),
    "a part of another package": ("import vllm", "if SCALED:\n    x = vllm.ops.scaled(x)"),
    "what no Triton has": ("", "if SCALED:\n    x = tl.libdevice.rsqrt(x)"),
    "a function of the host": ("def scaled(x):\n    return x", "if SCALED:\n    x = scaled(x)"),
    "a kernel that it calls": (HELPER, "if SCALED:\n    x = helper(x)"),
}

COMPILED = {
    "a constant that is true": ("", "if not SCALED:\n    x = scaled(x)"),
    "an else": ("", "if SCALED:\n    x += 0\nelse:\n    x = scaled(x)"),
    "a number of the launch": ("", "if n > 5:\n    x = x * SCALE"),
    "a number that is never reached": ("", "if n > 5000000:\n    x = x * SCALE"),
    "a value": ("", "if tl.sum(x) == 12345:\n    x = scaled(x)"),
    "a loop": ("", "for _ in range(n):\n    if n < 0:\n        x = scaled(x)"),
    "a kernel that it calls": (HELPER, "if n > 5000000:\n    x = helper(x)"),
    "kernels that call kernels": (HELPER + DEEPER, "if n > 5000000:\n    x = deepest(x)"),
    "no branch": ("", "x = x * SCALE"),
    "a branch and no branch": ("", "if SCALED:\n    x = scaled(x)\nx = x * SCALE"),
    "a condition": ("", "if SCALED and SCALE > 1:\n    x += 1"),
    "what prints": ("", "if n > 5:\n    tl.device_print('x', x)"),
}


def source_of(top: str, line: str) -> str:
    return KERNEL.format(top=top, line=line.replace("\n", "\n    "))


@pytest.fixture(scope="module")
def judged(shared_worker: StartedWorker, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = [source_of(*lines) for lines in (*UNCOMPILED.values(), *COMPILED.values())]
    return judged_texts(shared_worker, tmp_path_factory.mktemp("problem"), every)


@pytest.mark.parametrize("what", UNCOMPILED)
def test_a_branch_that_no_launch_compiles_may_break_a_rule_and_is_left_out(judged: Judged, what: str) -> None:
    found = judged(source_of(*UNCOMPILED[what]))
    assert found.status is Status.PASSED, found.reason
    text = found.judged_source or ""
    assert "not judged: line" in text
    assert "tl.static_assert(False, " in text
    for left_out in ("scaled(x)", "* SCALE", "vllm.", "import vllm", "libdevice.rsqrt(x)"):
        assert left_out not in text
    assert any("line " in condition for condition in found.unjudged)


@pytest.mark.parametrize("what", COMPILED)
def test_a_branch_that_a_launch_compiles_breaks_its_rule(judged: Judged, what: str) -> None:
    found = judged(source_of(*COMPILED[what]))
    assert found.status is Status.REJECTED
    assert found.reason.startswith("line ")
    assert "a kernel body may not use" in found.reason
