"""The names that the whole numbers of a problem file have, and what replacing one changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ProblemError
from kernelwright.model import Case
from kernelwright.worker.reference.load import LoadedProblem, load_problem

TEXT = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return x + 1

rows, flag, name = 4, True, "x"
shape = [(5, 6), 7]
twice = 2 * rows
total = shape[0][1] * 10

def get_inputs(depth=3):
    return [torch.ones(rows, shape[0][0], 8, depth)]

def get_init_inputs():
    return [9]
"""


@pytest.fixture
def problem(tmp_path: Path) -> LoadedProblem:
    (tmp_path / "some.py").write_text(TEXT)
    return load_problem(str(tmp_path / "some.py"))


def case(**params: int) -> Case:
    return Case(name="one", params=params)


def test_module_level_numbers_items_defaults_and_literals_are_named(problem: LoadedProblem) -> None:
    assert problem.numbers(case()) == {
        "rows": 4, "shape[0][0]": 5, "shape[0][1]": 6, "shape[1]": 7, "twice": 8, "total": 60,
        "depth": 3, "get_inputs[0]": 0, "get_inputs[1]": 0, "get_inputs[2]": 8, "get_init_inputs[0]": 9,
    }  # fmt: skip


def test_what_is_computed_from_a_number_follows_it(problem: LoadedProblem) -> None:
    numbers = problem.numbers(Case(name="one", params={"rows": 3, "shape[0][1]": 2}))
    assert (numbers["twice"], numbers["total"], numbers["shape[0][0]"]) == (6, 20, 5)


def test_items_and_literals_are_replaced(problem: LoadedProblem) -> None:
    one = Case(name="one", params={"shape[0][0]": 2, "get_inputs[2]": 11, "depth": 1, "get_init_inputs[0]": 13})
    made = problem.instance(one, seed=0)
    assert made.inputs[0].shape == (4, 2, 11, 1)  # type: ignore[union-attr]
    assert made.init_inputs == (13,)


def test_an_item_that_is_not_there_is_refused(tmp_path: Path, problem: LoadedProblem) -> None:
    sidecar = '{"cases": [{"name": "one", "params": {"shape[0][2]": 2}}]}'
    (tmp_path / "some.cases.json").write_text(sidecar)
    with pytest.raises(ProblemError, match=r"nothing takes the parameter 'shape\[0\]\[2\]'"):
        load_problem(str(problem.file))
