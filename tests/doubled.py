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

Judged = Callable[[str], Evaluation]


def judged_texts(worker: StartedWorker, folder: Path, sources: Iterable[str]) -> Judged:
    """What a worker says of a text, which is one of `sources`; all are judged when the first is asked for."""
    problem = folder / "double.py"
    problem.write_text(PROBLEM)
    evaluations = Evaluations(worker(), [Submission(problem, source) for source in sources])
    return lambda source: evaluations.of(Submission(problem, source))
