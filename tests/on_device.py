"""What tests of real workers share: whether a device is here, and a problem with one kernel for it.

The rule: whether a device is here is asked in a process of its own, so that the tests never initialise CUDA.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest


@cache
def has_device() -> bool:
    asked = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True).returncode == 0


def needs_device() -> list[pytest.MarkDecorator]:
    """`pytestmark` of a module in which nothing can be shown without a device."""
    return [pytest.mark.gpu, pytest.mark.skipif(not has_device(), reason="torch finds no CUDA device here")]


def left_in(folder: Path) -> list[Path]:
    """What processes left in a folder for temporary files, but the file by which programs share a GPU: it stays."""
    return [path for path in folder.iterdir() if not path.match("kernelwright-*.lock")]


def doubling(elements: int) -> str:
    """`PROBLEM` with so many elements in its timed case."""
    return PROBLEM.replace("1 << 20", str(elements))


PROBLEM = """\
import torch

CASES = [dict(name="large", n=1 << 20, dtype="float32"), dict(name="small", n=5000, dtype="float32", small=True)]


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs(n):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * 2, mask=at < n)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024, num_warps=4)
    return out
"""
