"""The least work of a problem's cases: from values where they matter and can be made, and what a problem states."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.model import TensorSpec
from kernelwright.worker.bounds.case_work import case_work, flop_stated
from kernelwright.worker.bounds.indices import READ_ALIKE
from kernelwright.worker.judge.judge import Judge, case_read
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.reference import load
from kernelwright.worker.reference.load import Specs

LOOKUP = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, ids):
        return self.table(ids)


CASES = [
    dict(name="large", rows=200000, width=512, count=64),
    dict(name="little", small=True, rows=9, width=4, count=64),
]


def get_inputs(rows=9, count=64):
    return [torch.randint(0, rows, (count,))]


def get_init_inputs(rows=9, width=4):
    return [rows, width]
"""


@pytest.fixture
def lookup(tmp_path: Path) -> str:
    (tmp_path / "problem.py").write_text(LOOKUP)
    return str(tmp_path / "problem.py")


def test_a_lookup_reads_the_rows_that_its_ids_name_where_these_can_be_drawn(lookup: str) -> None:
    problem = load.load_problem(lookup)
    large, little = problem.cases
    found = case_work(problem, little, problem.specs(little), 5, "cpu")
    ids = problem.instance(little, seed=5).inputs[0]
    assert found.reads[1].bytes == len(set(ids.tolist())) * 16  # type: ignore[union-attr]
    assert found.assumed == ()
    assert (found.written_bytes, found.reads[0].bytes) == (64 * 16, 64 * 8)
    by_ids = case_work(problem, large, problem.specs(large), 5, "cpu")
    ids = problem.whole_numbers(large, seed=5)["ids"]
    assert by_ids.reads[1].bytes == len(set(ids.tolist())) * 512 * 4
    assert by_ids.assumed == ()


def test_ids_that_forward_makes_are_taken_to_be_equal_where_it_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(LOOKUP.replace("self.table(ids)", "self.table((ids * 7) % 1000)"))
    problem = load.load_problem(str(tmp_path))
    large = problem.cases[0]
    unknown = case_work(problem, large, problem.specs(large), 5, "cpu")
    assert (unknown.reads[1].bytes, unknown.assumed) == (512 * 4, (READ_ALIKE,))


def test_a_judge_tells_what_a_case_reads_writes_and_multiplies(lookup: str) -> None:
    large, little = Judge("cpu").load(lookup).cases
    rows = large.reads[1].bytes // 2048
    assert 50 < rows <= 64
    assert large.bytes == rows * 2048 + 64 * 8 + 64 * 2048
    assert (large.written_bytes, large.flop_by_dtype, large.stated) == (64 * 2048, {}, ())
    assert [read.name for read in little.reads] == ["input ids", "parameter table.weight"]
    assert little.assumed == ()


def given(*dtypes: str) -> Specs:
    return Specs(
        inputs=tuple(TensorSpec(shape=(4,), dtype=dtype, stride=(1,)) for dtype in dtypes), outputs=(), parameters={}
    )


@pytest.mark.parametrize(
    ("derived", "dtypes", "expected"),
    [
        ({"bfloat16": 60, "float32": 20}, ("float32",), {"bfloat16": 76, "float32": 25}),
        ({"float16": 7}, ("int64", "float32"), {"float16": 101}),
        ({}, ("int64", "float32", "bfloat16"), {"bfloat16": 101}),
        ({}, ("int64",), {"float32": 101}),
    ],
)
def test_stated_flop_are_divided_as_the_products_of_forward_are(
    derived: dict[str, int], dtypes: tuple[str, ...], expected: dict[str, int]
) -> None:
    assert flop_stated(101, derived, given(*dtypes)) == expected


def test_stated_bytes_divide_into_read_and_written_as_the_derived_do(lookup: str) -> None:
    problem = load.load_problem(lookup)
    little = problem.cases[1]
    work, shapes = problem.least_work(little), problem.specs(little)
    shape = CaseShape(name="little", inputs=(), input_names=(), parameters={}, init=(), init_names=())
    told = case_read(little, shape, shapes, work, None, 10 * work.bytes)
    assert (told.bytes, told.written_bytes) == (10 * work.bytes, 10 * work.written_bytes)
    assert (told.stated, told.flop) == (("bytes",), 0)
