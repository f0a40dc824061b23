"""A `torch.autograd.Function` becomes the entry of a candidate."""

from __future__ import annotations

import pytest

from entered import case, problem
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled

FILE = """\
import torch
from torch.autograd import Function


class Scale(torch.autograd.Function):
    def forward(ctx, x): ...
    def backward(ctx, grad): ...


class Other(Function):
    def forward(ctx, x): ...
"""
SEVERAL, ONE, HALF = (
    FILE,
    FILE.partition("\n\nclass Other")[0] + "\n",
    FILE.replace("torch.autograd.Function", "object"),
)
ROWS = problem(case({"x": (4,)}, [(4,)]), gradients=True)


def test_the_only_one_becomes_kernel_function_where_gradients_are_asked_for() -> None:
    assert with_entry(ONE, ROWS).endswith("\n\n\nkernel_function = Scale\n")
    assert with_entry(ONE, problem(case({"x": (4,)}, [(4,)]))) == ONE


def test_one_of_several_is_chosen_by_the_file() -> None:
    with pytest.raises(NotCalled, match=r"line 10: .* \(Scale, Other\): state .* as in kernel_function = Other"):
        with_entry(SEVERAL, ROWS)
    chosen = f"{SEVERAL}\n\nkernel_function = Scale\n"
    assert with_entry(chosen, ROWS) == chosen


def test_one_without_a_backward_is_refused_with_the_cure() -> None:
    with pytest.raises(NotCalled, match="line 10: Other has no backward, and the problem states GRADIENTS: define it"):
        with_entry(HALF, ROWS)
