"""A session of this machine in the test's own process, with a small problem and a right kernel for it.

So that a test can change what the supervisor would do, or watch the processes that it starts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.cache import Cache
from kernelwright.worker.processes.children import Child
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session

PROBLEM = """
import torch

CASES = [dict(name="small", n=64, small=True), dict(name="timed", n=4096)]


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs(n):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

CANDIDATE = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


@contextlib.contextmanager
def opened(folder: Path, problem: str = PROBLEM, cache: Cache | None = None) -> Iterator[Session]:
    """A session in `folder` with the problem loaded."""
    (folder / "problem.py").write_text(problem)
    made = Session(Processes(folder, None, Limits(), cache))
    try:
        made.load(str(folder / "problem.py"))
        yield made
    finally:
        made.processes.close()


def watch(session: Session, monkeypatch: pytest.MonkeyPatch, seen: Callable[[Child], None]) -> None:
    """Show `seen` every child as it is started."""
    spawn = session.processes.spawn

    def watched(role: str, *args: Any, **kwargs: Any) -> Child:
        child = spawn(role, *args, **kwargs)
        seen(child)
        return child

    monkeypatch.setattr(session.processes, "spawn", watched)
