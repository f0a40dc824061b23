"""A problem of one expression, and on which of its draws the judge refuses a kernel, without a worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from kernelwright.worker.judge.judge import Judge

TEXT = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, {names}):
        return {expression}

CASES = [dict(name="small", small=True), dict(name="timed")]

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def problem_file(folder: Path, expression: str, inputs: str, names: str = "x") -> Path:
    """inputs: the expressions of `names`, in order."""
    file = folder / "problem.py"
    file.write_text(TEXT.format(names=names, expression=expression, inputs=inputs))
    return file


def judge_of(folder: Path, expression: str, inputs: str, names: str = "x") -> Judge:
    made = Judge("cpu")
    made.load(str(problem_file(folder, expression, inputs, names)))
    return made


def refusals(made: Judge, kernel: Callable[..., Tensor]) -> dict[str, str]:
    """The reasons why the first output of a kernel is wrong, by distribution."""
    found = {}
    for draw in made.draws_for("small"):
        answer = made.answer("small", draw)
        given: list[Any] = [one.clone() if isinstance(one, Tensor) else one for one in answer.instance.inputs]
        if reason := made._compared("small", draw, 0, kernel(*given)).reason:
            found.setdefault(answer.distribution, reason)
    return found
