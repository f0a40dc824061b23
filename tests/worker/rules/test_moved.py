"""Memory that host code allocates on the CPU and moves to the device: it is allocated there."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.moved import moved
from kernelwright.worker.rules.normal import normal_form

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


def kernel_function(x, other=None, device=None, dtype=None):
    out = MADE
    copy[(1,)](x, out, BLOCK=256)
    return out
"""


def findings(made: str) -> list[str]:
    return [str(one) for one in triton.check(SOURCE.replace("MADE", made)).findings]


@pytest.mark.parametrize(("made", "on_device"), [
    ("torch.empty(256).cuda()", "torch.empty(256, device='cuda')"),
    ("torch.empty(256).to(x.device)", "torch.empty(256, device=x.device)"),
    ("torch.zeros((1, 256), dtype=x.dtype).to('cuda:0')", "torch.zeros((1, 256), dtype=x.dtype, device='cuda:0')"),
    ("torch.full(x.shape, 1.0).to(device=device)", "torch.full(x.shape, 1.0, device=device)"),
])  # fmt: skip
def test_memory_that_is_allocated_and_moved_is_allocated_on_the_device(made: str, on_device: str) -> None:
    assert findings(made) == [f"line 14: allocates memory on the CPU and moves it: write {on_device}"]
    text = normal_form(SOURCE.replace("MADE", made))
    assert text == SOURCE.replace("MADE", f"({on_device})")
    assert triton.check(text).findings == ()


@pytest.mark.parametrize("made", [
    "torch.empty(256).to(dtype)", "torch.empty(256).to('cpu')", "torch.empty(256, device=x.device).to(other.device)",
    "torch.empty(256, out=other).cuda()", "torch.randn(256).cuda()", "x.to(x.device)", "torch.empty(256, **x).cuda()",
    "torch.empty(256).to(x.device, dtype)",
])  # fmt: skip
def test_other_moves_stay(made: str) -> None:
    assert (findings(made), moved(syntax.parse(SOURCE.replace("MADE", made)))) == ([], [])
