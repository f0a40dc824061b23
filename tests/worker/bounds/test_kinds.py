"""The kind of each operator that a forward calls, as PyTorch itself describes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernelwright.model import OperatorKind
from kernelwright.worker.bounds.work import least_work, taped
from kernelwright.worker.reference.instance import Instance


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def kinds_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> dict[str, OperatorKind]:
    with torch.no_grad():
        inputs = tuple(torch.zeros(shape) for shape in shapes)
        names = tuple(f"i{position}" for position in range(len(inputs)))
        return least_work(taped(Instance(Calls(function).eval(), inputs, (), names, (), Path("problem.py")))).kinds


CASES: list[tuple[Callable[..., Any], list[tuple[int, ...]], dict[str, OperatorKind]]] = [
    (lambda x: F.silu(x) * 2, [(4, 8)], {"silu": "pointwise", "mul": "pointwise"}),
    (lambda x: torch.softmax(x, -1), [(4, 8)], {"_softmax": "other"}),
    (lambda x: x.t().contiguous().half(), [(4, 8)], {"t": "copy", "clone": "copy", "_to_copy": "copy"}),
    (lambda x: torch.zeros_like(x) + torch.zeros(8), [(4, 8)], {"add": "pointwise"}),
    (lambda a, b: a @ b, [(4, 8), (8, 16)], {"mm": "product"}),
    (lambda a, b: a @ b, [(4, 8), (8, 1)], {"mm": "vector product"}),
    (lambda a, b: a @ b, [(4, 8), (8,)], {"mv": "vector product"}),
    (lambda a, b, c: (a @ b, a @ c), [(4, 8), (8, 1), (8, 16)], {"mm": "product"}),
    (lambda x, w: F.conv2d(x, w), [(1, 4, 9, 9), (8, 4, 3, 3)], {"convolution": "product"}),
    (lambda x, w: F.conv2d(x, w, groups=4), [(1, 4, 9, 9), (4, 1, 3, 3)], {"convolution": "vector product"}),
]


@pytest.mark.parametrize(("function", "shapes", "expected"), CASES)
def test_each_operator_has_its_kind(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], expected: dict[str, OperatorKind]
) -> None:
    assert kinds_of(function, *shapes) == expected
