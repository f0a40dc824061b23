"""Faults that only unusual inputs show: what a file makes constant, sentinels, rows without a number, half's range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from judged import judge_of, refusals
from kernelwright.worker.reference import values


def refused_on(folder: Path, problem: tuple[str, str, str], kernel: Callable[..., Tensor]) -> set[str]:
    """The distributions on which a kernel is wrong."""
    names, expression, inputs = problem
    return set(refusals(judge_of(folder, expression, inputs, names), kernel))


ROWS = "torch.randn(16, 24)"
BIASED = ("x, bias", "x * 0.5 + bias", f"{ROWS}, torch.zeros(24)")
MASKED = ("x, keep", "x.masked_fill(~keep, -1.0)", f"{ROWS}, torch.ones(16, 24, dtype=torch.bool)")
GUARDED = ("x, at", "torch.where(at < 0, 0.0, x.gather(1, at.clamp(min=0)[:, None])[:, 0])",
           f"{ROWS}, torch.randint(0, 24, (16,))")  # fmt: skip
LABELLED = (
    "x, at",
    "torch.nn.functional.cross_entropy(x, at, reduction='none')",
    f"{ROWS}, torch.randint(0, 24, (16,))",
)
SHARES = ("x", "torch.softmax(x, -1).nan_to_num(0.0)", ROWS)
UNIT = ("x", "x / x.norm(dim=-1, keepdim=True)", ROWS)
HALF = ("x", "torch.softmax(x, -1)", f"{ROWS}.half()")
RATIO = ("x, y", "x / y", f"{ROWS}, torch.rand(16, 24) + 0.5")


def clamped(x: Tensor) -> Tensor:
    return torch.softmax(x.float().clamp(-1500, 1500), -1).half()


def kept(x: Tensor, at: Tensor) -> Tensor:
    return x.gather(1, at.clamp(min=0)[:, None])[:, 0]


def ignores_no_label(x: Tensor, at: Tensor) -> Tensor:
    return -torch.log_softmax(x, -1).gather(1, at.clamp(min=0)[:, None])[:, 0]


@pytest.mark.parametrize(
    ("problem", "wrong", "distribution"),
    [
        (BIASED, lambda x, bias: x * 0.5, values.VARIED),
        (MASKED, lambda x, keep: x, values.VARIED),
        (GUARDED, kept, values.VARIED),
        (LABELLED, ignores_no_label, values.VARIED),
        (SHARES, lambda x: torch.softmax(x, -1), values.HIDDEN),
        (UNIT, lambda x: x / (x.square().sum(-1, keepdim=True) + 1e-35).sqrt(), values.ROWS),
        (HALF, clamped, values.FULL),
        (RATIO, lambda x, y: x / y.clamp(min=1e-30), values.ROWS),
    ],
    ids=["zeros", "ones", "sentinel", "ignored", "hidden_rows", "no_length", "range_of_half", "division"],
)
def test_a_fault_that_ordinary_values_hide_is_found(
    tmp_path: Path, problem: tuple[str, str, str], wrong: Callable[..., Tensor], distribution: str
) -> None:
    assert distribution in refused_on(tmp_path, problem, wrong)


@pytest.mark.parametrize(
    ("problem", "honest"),
    [
        (BIASED, lambda x, bias: torch.addcmul(bias, x, torch.tensor(0.5))),
        (MASKED, lambda x, keep: torch.where(keep, x, -1.0)),
        (LABELLED, lambda x, at: torch.where(at == -100, 0.0, ignores_no_label(x, at))),
        (SHARES, lambda x: torch.where((x == -torch.inf).all(-1, keepdim=True), 0.0, torch.softmax(x, -1))),
        (UNIT, lambda x: x * (1 / x.square().sum(-1, keepdim=True).sqrt())),
        (HALF, lambda x: torch.softmax(x.float(), -1).half()),
        (RATIO, lambda x, y: x / y),
    ],
    ids=["zeros", "ones", "ignored", "hidden_rows", "no_length", "range_of_half", "division"],
)
def test_an_honest_kernel_is_right_on_them(
    tmp_path: Path, problem: tuple[str, str, str], honest: Callable[..., Tensor]
) -> None:
    assert refused_on(tmp_path, problem, honest) == set()


def test_zeros_alone_judge_where_the_answer_is_a_number(tmp_path: Path) -> None:
    """Here forward takes zeros in every input; a quotient of zeros is NaN, and one by zeros infinite."""
    difference = ("x, y", "x - 2 * y", f"{ROWS}, torch.rand(16, 24) + 0.5")
    assert values.ZEROS in refused_on(tmp_path, difference, lambda x, y: x - 2 * y + (x.abs().amax() == 0) * 1.0)
    product = ("x, y", "x.softmax(-1) / y.exp()", RATIO[2])
    assert values.ZEROS in refused_on(tmp_path, product, lambda x, y: x.softmax(-1) / y.exp() * x.ne(0).any())


def test_a_reason_says_which_label_was_met(tmp_path: Path) -> None:
    names, expression, inputs = LABELLED
    made = judge_of(tmp_path, expression, inputs, names)
    draw = values.DISTRIBUTIONS.index(values.VARIED)
    assert made.answer("small", draw).prefix == f"on inputs {values.VARIED} (-100 in at): "
