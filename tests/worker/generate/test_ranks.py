"""Sorting by ranks gives what PyTorch gives, the first of equal elements first."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._inductor import config

from evaluated import StartedWorker
from kernelwright.inductor import candidate_texts
from kernelwright.model import Candidate, Status
from kernelwright.worker.generate.ranks import MOST_IN_ROW, sort, topk
from problem_text import problem_text

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


@pytest.mark.skipif(not hasattr(config.triton, "decompose_sort_ops"), reason="torch before 2.13 sorts in no kernel")
def test_longer_rows_are_sorted_in_kernels(shared_worker: StartedWorker, tmp_path: Path) -> None:
    forward = "best, places = x.topk(7, dim=1)\nreturn best, places, torch.sort(x, dim=1, stable=True)[1]"
    text = problem_text(
        forward, "rows=512, features=300", {"x": "torch.randn(rows, features).round(decimals=1)"},
        small="rows=3, features=150",
    )  # fmt: skip
    (tmp_path / "problem.py").write_text(text)
    shared_worker().load(str(tmp_path / "problem.py"))
    found = shared_worker().generate()
    assert found.captures[0].sizes is not None
    assert found.captures[0].library_calls == ()
    result = shared_worker().evaluate(Candidate(source=candidate_texts(found, "none")[0]), "verify")
    assert {case.case: case.status for case in result.results}["small"] is Status.PASSED, result.reason
