"""Sorting by ranks gives what PyTorch gives, the first of equal elements first."""

from __future__ import annotations

import pytest
import torch

from kernelwright.worker.generate.ranks import MOST_IN_ROW, sort, topk

ROWS = {
    "distinct": torch.rand(3, 5, 17),
    "ties": torch.randint(-2, 3, (3, 5, 17)).float(),
    "whole numbers": torch.randint(-5, 5, (3, 5, 17)),
    "infinities": torch.tensor([[float("inf"), float("-inf"), 0.0, float("-inf"), float("inf"), float("nan")]]),
    "half": torch.randn(3, 5, 17).half(),
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_sorted_stably(name: str, descending: bool) -> None:
    x = ROWS[name]
    for dim in (0, -1):
        wanted = torch.sort(x, dim=dim, descending=descending, stable=True)
        values, places = sort(x, dim, descending)
        torch.testing.assert_close(values, wanted.values, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(places, wanted.indices)


@pytest.mark.parametrize("largest", [False, True])
def test_the_first_elements_are_those_of_topk(largest: bool) -> None:
    wanted = torch.topk(ROWS["distinct"], 3, dim=1, largest=largest)
    values, places = topk(ROWS["distinct"], 3, 1, largest)
    assert torch.equal(values, wanted.values)
    assert torch.equal(places, wanted.indices)


def test_long_rows_are_left_to_others() -> None:
    assert topk(torch.rand(2, MOST_IN_ROW + 1), 3) is NotImplemented
