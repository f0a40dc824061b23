"""A small problem for kernels whose text is tried in a real worker, and what the worker says of many texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from evaluated import Evaluations, StartedWorker, Submission
from kernelwright.model import Evaluation

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


CASES = [dict(name="short", n=64, small=True), dict(name="long", n=1024)]


def get_inputs(n=64):
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""

KERNEL = """
import torch
import triton
import triton.language as tl
{top}

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n) * 2, mask=lanes < n)

def kernel_function(x):
    {host}
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
"""


def source_of(top: str, host: str) -> str:
    return KERNEL.format(top=top, host=host.replace("\n", "\n    "))


Judged = Callable[[str], Evaluation]


def judged_texts(worker: StartedWorker, folder: Path, sources: Iterable[str]) -> Judged:
    """What a worker says of a text, which is one of `sources`; all are judged when the first is asked for."""
    problem = folder / "double.py"
    problem.write_text(PROBLEM)
    evaluations = Evaluations(worker(), [Submission(problem, source) for source in sources])
    return lambda source: evaluations.of(Submission(problem, source))
