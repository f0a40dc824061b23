"""Tasks of GPU MODE as problems: sizes, files, devices and seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpu_mode_task import REFERENCE, TASK, write_task
from kernelwright.errors import ProblemError
from kernelwright.problems import copy_problem, find_problem, read_problem_text
from kernelwright.worker.reference.instance import outputs
from kernelwright.worker.reference.load import LoadedProblem, load_problem


def loaded(folder: Path) -> LoadedProblem:
    found = find_problem(str(folder))
    read_problem_text(found.file)
    return load_problem(str(found.file))


def test_benchmarks_are_timed_and_tests_are_held_out_with_their_sizes(tmp_path: Path) -> None:
    problem = loaded(write_task(tmp_path))
    assert {case.name: case.timed for case in problem.cases} == {
        "512x256x0.5": True, "2048x256x2.0": True, "test-8x40x0.5": False
    }  # fmt: skip
    assert dict(problem.cases[1].params) == {"rows": 2048, "width": 256, "scale": 2.0}
    assert problem.stated is not None
    assert (problem.name, problem.stated.set) == ("rows", "GPU MODE")


def test_the_file_of_a_task_means_its_folder(tmp_path: Path) -> None:
    assert loaded(write_task(tmp_path) / "task.yml").name == "rows"


def test_what_is_unpacked_from_data_and_written_is_changed_in_place(tmp_path: Path) -> None:
    problem = loaded(write_task(tmp_path))
    instance = problem.instance(problem.cases[2], seed=1)
    x, weight, out = instance.inputs
    assert instance.mutates == ("data.2",)
    made = outputs(instance)
    assert isinstance(x, torch.Tensor)
    assert isinstance(weight, torch.Tensor)
    assert all(torch.equal(one, x * weight) for one in made)
    assert out is not made[0]


def test_values_follow_a_secret_seed_and_not_that_of_the_task(tmp_path: Path) -> None:
    problem = loaded(write_task(tmp_path))
    one, two, again = (problem.instance(problem.cases[2], seed=seed).inputs[0] for seed in (1, 2, 1))
    assert isinstance(one, torch.Tensor)
    assert isinstance(two, torch.Tensor)
    assert isinstance(again, torch.Tensor)
    assert torch.equal(one, again)
    assert not torch.equal(one, two)


def test_a_seed_that_is_passed_on_to_torch_is_accepted_and_another_is_not(tmp_path: Path) -> None:
    drawn = REFERENCE.replace(
        'made = torch.Generator(device="cuda")\n    made.manual_seed(seed)', "torch.manual_seed(seed)"
    )
    drawn = drawn.replace("normal(rows, width, made)", "torch.randn(rows, width)").replace(
        "normal(rows, 1, made)", "torch.randn(rows, 1)"
    )
    problem = loaded(write_task(tmp_path / "given", reference=drawn))
    assert problem.instance(problem.cases[2], seed=1).inputs[0].shape == (8, 40)  # type: ignore[union-attr]
    problem = loaded(write_task(tmp_path / "own", reference=drawn.replace("manual_seed(seed)", "manual_seed(7)")))
    with pytest.raises(ProblemError, match=r"calls torch\.manual_seed"):
        problem.instance(problem.cases[2], seed=1)


def test_a_run_copies_the_reference_and_what_it_imports(tmp_path: Path) -> None:
    found = find_problem(str(write_task(tmp_path / "task")))
    problem = load_problem(str(found.file))
    copied = load_problem(str(copy_problem(found, tmp_path / "run", problem.cases).file))
    assert {Path(name).name for name in copied.modules} == {"reference.py", "shapes.py", "task.py"}
    assert copied.cases == problem.cases


def test_lists_of_sizes_become_parameters_by_place(tmp_path: Path) -> None:
    task = TASK.replace('"rows": 8,', '"rows": [8, 3],').replace('"rows": 512,', '"rows": [512, 2],')
    task = task.replace('"rows": 2048,', '"rows": [2048, 4],')
    folded = REFERENCE.replace("seed: int) -> Data:", "seed: int) -> Data:\n    rows = rows[0] * rows[1]")
    problem = loaded(write_task(tmp_path, task, folded))
    assert dict(problem.cases[2].params) == {"rows[0]": 8, "rows[1]": 3, "width": 40, "scale": 0.5}
    assert problem.instance(problem.cases[2], seed=1).inputs[0].shape == (24, 40)  # type: ignore[union-attr]


def test_nothing_of_a_task_is_executed_to_find_it(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    find_problem(str(write_task(tmp_path, reference=f"open({str(ran)!r}, 'w')\n" + REFERENCE)))
    assert not ran.exists()


@pytest.mark.parametrize(("old", "new", "words"), [
    ('"rows": 512', '"lines": 512', r"benchmarks\[0\] names lines, and generate_input has no .* \(it has rows"),
    ('{"rows": 8, ', "{", r"tests\[0\] gives no rows, which generate_input takes \(add it"),
    ('"width": 40', '"width": {"a": 1}', r"tests\[0\]\.width is .* \(expected a number"),
    ('"rows": 8', '"rows": [8]', r"tests\[0\]\.rows is \[8\], and benchmarks\[0\]\.rows has another length \(give"),
    ("../shared/shapes.py", "../gone.py", r"cannot read .*gone\.py.* \(add it, or correct the source of shapes\.py"),
    ("tests:", "tests: 3\nothers:", r"is no task of GPU MODE: .*\$\.tests.* \(expected lists tests and benchmarks"),
    ("tests:", "tests: [\nothers:", r"is no task of GPU MODE: .* \(expected lists tests and benchmarks"),
])  # fmt: skip
def test_a_field_that_is_missing_or_broken_is_named_with_its_cure(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    with pytest.raises(ProblemError, match=rf"task\.yml.*{words}"):
        find_problem(str(write_task(tmp_path, TASK.replace(old, new, 1))))


def test_a_task_without_sizes_or_functions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"has neither tests nor benchmarks \(add the sizes under benchmarks"):
        find_problem(str(write_task(tmp_path / "a", "description: nothing\n")))
    with pytest.raises(
        ProblemError, match=r"reference\.py does not define ref_kernel \(a task has a function ref_kernel"
    ):
        find_problem(str(write_task(tmp_path / "b", reference=REFERENCE.replace("ref_kernel", "reference"))))
