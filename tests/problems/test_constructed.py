"""A kernel's class with the constructor of another problem."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from kernelwright.model import Candidate
from kernelwright.problems.constructed import constructed_as

KERNEL = """import torch

class ModelNew(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x
"""

NORM = """class Model(torch.nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
"""


def arguments(candidate: Candidate | None) -> str:
    assert candidate is not None
    tree = ast.parse(candidate.source)
    return next(ast.unparse(node.args) for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name == "__init__")  # fmt: skip


def test_a_kernel_takes_what_the_other_model_is_constructed_with() -> None:
    made = constructed_as(Candidate(source=KERNEL), NORM)
    assert arguments(made) == "self, num_features, eps=1e-05"
    assert made is not None
    scope = {"torch": SimpleNamespace(nn=SimpleNamespace(Module=object))}
    exec(made.source.replace("import torch", ""), scope)
    made_with = scope["ModelNew"](64)  # type: ignore[operator]
    assert made_with.eps == 1e-5


def test_one_that_is_constructed_alike_is_not_changed() -> None:
    candidate = Candidate(source=KERNEL.replace("self, eps", "self, num_features, eps=1e-05"))
    assert constructed_as(candidate, NORM) is candidate


@pytest.mark.parametrize("problem", [
    NORM.replace("eps", "momentum"),
    NORM.replace("1e-5", "EPS"),
    NORM.replace("num_features: int, eps: float = 1e-5", "*sizes"),
    "class Model(torch.nn.Module):\n    pass\n",
    "{no Python",
])  # fmt: skip
def test_one_that_lacks_an_argument_there_is_left_out(problem: str) -> None:
    assert constructed_as(Candidate(source=KERNEL), problem) is None


@pytest.mark.parametrize("source", [
    "def kernel_function(x, eps):\n    return x\n",
    "class ModelNew:\n    def forward(self, x):\n        return x\n",
    "class (",
])  # fmt: skip
def test_a_kernel_without_a_constructor_is_not_changed(source: str) -> None:
    candidate = Candidate(source=source)
    assert constructed_as(candidate, NORM) is candidate
