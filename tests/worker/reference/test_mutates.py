"""Inputs that forward changes in place: which may be, what is seen of them, and what calls find."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernelwright.errors import ProblemError
from kernelwright.worker.bounds.work import least_work, taped
from kernelwright.worker.reference.baseline import check_repeatable
from kernelwright.worker.reference.instance import cast, outputs, with_tensors
from kernelwright.worker.reference.load import LoadedProblem, load_problem

PROBLEM = """
import torch
import torch.nn as nn

{mutates}

class Model(nn.Module):
    def forward(self, x, y):
        {body}

def get_inputs(rows=5):
    {inputs}

def get_init_inputs():
    return []
"""
INPUTS = "return [torch.randn(rows, 3), torch.randn(rows, 3)]"


def problem(folder: Path, body: str, mutates: str = 'MUTATES = ("x",)', inputs: str = INPUTS) -> LoadedProblem:
    file = folder / "made.py"
    file.write_text(PROBLEM.format(body=body, mutates=mutates, inputs=inputs))
    return load_problem(str(file))


def described(folder: Path, body: str, mutates: str, inputs: str) -> None:
    made = problem(folder, body, mutates, inputs)
    made.specs(made.cases[0])


def test_what_is_changed_comes_after_what_is_returned_and_the_inputs_stay(tmp_path: Path) -> None:
    made = problem(tmp_path, "return x.add_(y), y * 2")
    instance = made.instance(made.cases[0], seed=1)
    x, y = (value.clone() for value in instance.inputs if isinstance(value, torch.Tensor))
    for one in (instance, cast(instance, "float64"), instance):
        found = outputs(one)
        assert len(found) == 3
        assert torch.allclose(found[2].float(), x + y)
        assert torch.allclose(found[1].float(), y * 2)
    assert torch.equal(instance.inputs[0], x)  # type: ignore[arg-type]
    specs = made.specs(made.cases[0])
    assert (specs.mutates, specs.lies_in) == (("x",), ("x", ""))
    assert [spec.shape for spec in specs.outputs] == [(5, 3)] * 3


def test_a_forward_that_changes_its_inputs_may_return_nothing(tmp_path: Path) -> None:
    made = problem(tmp_path, "x.mul_(2)")
    assert len(outputs(made.instance(made.cases[0], seed=1))) == 1
    nothing = problem(tmp_path, "pass", mutates="")
    with pytest.raises(ProblemError, match="a NoneType, expected a tensor"):
        nothing.specs(nothing.cases[0])


def test_a_sidecar_may_list_them_for_a_file_that_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "made.cases.json").write_text('{"cases": [{"name": "only"}], "mutates": ["x"]}')
    assert problem(tmp_path, "x.add_(y)", mutates="").mutates == ("x",)
    with pytest.raises(ProblemError, match="keep one of the two"):
        problem(tmp_path, "x.add_(y)")


@pytest.mark.parametrize(
    ("body", "mutates", "inputs", "said"),
    [
        ("return x.add_(y)", "", INPUTS, r'changes input x in place.*or state MUTATES = \("x",\)'),
        ("return x.add_(y.add_(1))", 'MUTATES = ("x",)', INPUTS, "changes input y in place"),
        ("return x.add_(y.add_(1))", "", INPUTS, r'changes input x, input y in place.*or state MUTATES = \("x", "y"\)'),
        (
            "return x.add_(y.add_(1))",
            'MUTATES = ("y",)',
            INPUTS,
            r'changes input x in place.*or state MUTATES = \("x", "y"\)',
        ),
        ("return x + y", 'MUTATES = ("x", "y")', INPUTS, "MUTATES lists x, y, but PyTorch sees no change"),
        ("return x.add_(y)", 'MUTATES = ("z",)', INPUTS, "MUTATES lists 'z', which is no tensor"),
        ("return x.add_(y)", 'MUTATES = "x"', INPUTS, "MUTATES is 'x', expected names"),
        ("x.add_(1)", 'MUTATES = ("x",)', "return [torch.randn(1, 3).expand(rows, 3), 1]", "x is expanded"),
        ("x.add_(1)", 'MUTATES = ("x",)', "z = torch.randn(rows, 3); return [z, z[1:]]", "x and y share memory"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_cause_and_cure(
    tmp_path: Path, body: str, mutates: str, inputs: str, said: str
) -> None:
    with pytest.raises(ProblemError, match=said):
        described(tmp_path, body, mutates, inputs)


@pytest.mark.parametrize(
    ("body", "read", "written", "reads_changed"),
    [
        ("x.add_(y)", 120, 60, True),
        ("x.copy_(y)", 60, 60, False),
        ("x[1:3].copy_(y[1:3])", 24, 24, False),
        ("x[1:3].mul_(y[1:3])", 48, 24, True),
        ("x[torch.tensor([4, 0])] = y[:2]", 24, 24, False),
        ("x.index_add_(0, torch.tensor([4]), y[:1])", 24, 12, True),
        ("x.index_copy_(0, torch.tensor([2]), y[:1]); return x[2] * 2", 12, 24, False),
        ("x.index_copy_(0, torch.tensor([2]), y[:1]); return x.sum()", 60, 16, True),
    ],
)
def test_bytes_count_what_is_read_and_written_and_not_the_whole_of_what_is_changed(
    tmp_path: Path, body: str, read: int, written: int, reads_changed: bool
) -> None:
    made = problem(tmp_path, body)
    with torch.no_grad():
        work = least_work(taped(made.instance(made.cases[0], seed=1)))
    found = sum(one.bytes for one in work.reads if one.name in ("input x", "input y"))
    assert (found, work.written_bytes, work.reads_changed) == (read, written, reads_changed)


def test_calls_that_are_repeated_without_restoring_are_seen_to_leave_the_same(tmp_path: Path) -> None:
    same = problem(tmp_path, "x[:2].copy_(y[:2])")
    instance = same.instance(same.cases[0], seed=1)
    check_repeatable(instance.module, with_tensors(instance, torch.Tensor.clone))
    other = problem(tmp_path, "x.add_(y)")
    instance = other.instance(other.cases[0], seed=1)
    with pytest.raises(ProblemError, match="leaves other values in x when it is called again"):
        check_repeatable(instance.module, with_tensors(instance, torch.Tensor.clone))
