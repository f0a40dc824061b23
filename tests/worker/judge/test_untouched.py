"""Elements of inputs that forward changes in place which a candidate has to keep bit by bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernelwright.worker.judge.answer import judged
from kernelwright.worker.reference.instance import Instance


class Forward(torch.nn.Module):
    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body

    def forward(self, *given: Tensor) -> None:
        self.body(*given)


def instance(body: Any, **inputs: Tensor) -> Instance:
    names = tuple(inputs)
    return Instance(
        module=Forward(body).eval(), inputs=tuple(inputs.values()), init_inputs=(), input_names=names, init_names=(),
        file=Path("problem.py"), mutates=("x",),
    )  # fmt: skip


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    x.copy_(x * cos - x.flip(-1) * sin)


def test_an_element_that_comes_out_as_it_was_by_chance_is_not_untouched() -> None:
    x = torch.tensor([[3.0, 1.5], [math.inf, 2.0], [0.7, -0.2]], dtype=torch.float16)
    cos = torch.tensor([[1.5, 0.5], [0.5, 0.5], [0.1, 0.2]], dtype=torch.float16)
    sin = torch.tensor([[1.0, 0.25], [0.5, 0.5], [0.3, 0.4]], dtype=torch.float16)
    made = x.clone()
    rotate(made, cos, sin)
    assert made[0, 0] == x[0, 0]  # 3 * 1.5 - 1.5 * 1
    assert made[1, 0] == math.inf
    (left_alone,) = judged(instance(rotate, x=x, cos=cos, sin=sin)).left_alone
    assert not left_alone.any()


@pytest.mark.parametrize("body", [
    lambda x: x.copy_(32 * torch.tanh(x / 32)), lambda x: x.div_(32).tanh_().mul_(32), lambda x: x.mul_(0.02).mul_(50),
])  # fmt: skip
def test_a_tiny_number_of_which_a_function_gives_that_number_is_computed(body: Any) -> None:
    """A kernel may round it otherwise."""
    x = torch.tensor([1e-9, -3e-7, 7e-12, 2e-5])
    (left_alone,) = judged(instance(body, x=x)).left_alone
    assert not left_alone.any()


@pytest.mark.parametrize("value", [1.25, math.inf, -math.inf, math.nan, 0.0, -0.0])
def test_every_row_that_is_not_written_is_untouched_whatever_it_holds(value: float) -> None:
    x, new, at = torch.full((6, 3), value), torch.randn(2, 3), torch.tensor([4, 1])
    (left_alone,) = judged(instance(lambda x, new, at: x.index_copy_(0, at, new), x=x, new=new, at=at)).left_alone
    assert left_alone.all(dim=1).tolist() == [True, False, True, True, False, True]
    assert not left_alone[[1, 4]].any()


def test_what_a_mask_or_a_threshold_keeps_is_untouched() -> None:
    x, mask = torch.tensor([-2.0, -0.5, 0.5, 2.0]), torch.tensor([1.0, 0.0, 1.0, 0.0])
    (kept,) = judged(instance(lambda x, mask: x.copy_(torch.where(mask > 0, x * 2, x)), x=x, mask=mask)).left_alone
    assert kept.tolist() == [False, True, False, True]
    (kept,) = judged(instance(lambda x: x.clamp_(min=0.0), x=x)).left_alone
    assert kept.tolist() == [False, False, True, True]


def test_equal_inputs_do_not_make_an_element_untouched() -> None:
    x = torch.randn(40)
    y = torch.where(torch.arange(40) % 2 == 0, x, -x)
    (left_alone,) = judged(instance(lambda x, y: x.lerp_(y, 0.1), x=x.clone(), y=y)).left_alone
    assert not left_alone.any()


def test_float8_is_compared_by_its_values() -> None:
    x, at, new = torch.randn(4, 8).to(torch.float8_e4m3fn), torch.tensor([2]), torch.randn(1, 8).to(torch.float8_e4m3fn)

    def append(x: Tensor, at: Tensor, new: Tensor) -> None:
        x.copy_(x.double().index_copy(0, at, new.double()).to(x.dtype))

    (left_alone,) = judged(instance(append, x=x, at=at, new=new)).left_alone
    assert left_alone.all(dim=1).tolist() == [True, True, False, True]
