"""Problems of the field's sets: found as they are published, written as ordinary problems, and loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelwright.codec import decode
from kernelwright.errors import ProblemError
from kernelwright.model import Case
from kernelwright.problems import copy_problem, find_problem, read_problem_text
from kernelwright.worker.reference.instance import outputs
from kernelwright.worker.reference.load import LoadedProblem, load_problem
from problem_sets import CONFIG, DEFINITION, TASK, workload, write_folder, write_task, write_trace_set

WORKLOADS = [workload(number, {"rows": rows}) for number, rows in enumerate((64, 1, 7, 4096, 300, 12, 900, 33))]


def loaded(argument: Path) -> LoadedProblem:
    found = find_problem(str(argument))
    read_problem_text(found.file)
    return load_problem(str(found.file))


def named(problem: LoadedProblem) -> dict[str, Case]:
    return {case.name: case for case in problem.cases}


def test_each_workload_of_a_definition_is_a_case_with_its_axes_and_scalars(tmp_path: Path) -> None:
    problem = loaded(write_trace_set(tmp_path, DEFINITION, WORKLOADS))
    assert problem.name == "scale_h24"
    assert named(problem)["4096-00000003"].params == {"rows": 4096, "eps": 1e-3}
    instance = problem.instance(named(problem)["7-00000002"], seed=3)
    x, weight, eps = instance.inputs
    assert (x.shape, weight.shape, eps) == ((7, 24), (24,), 1e-3)  # type: ignore[union-attr]
    assert outputs(instance)[0].shape == (7, 24)
    assert instance.input_names == ("x", "weight", "eps")


def test_a_search_times_some_workloads_evenly_by_size_and_the_others_are_held_out(tmp_path: Path) -> None:
    cases = named(loaded(write_trace_set(tmp_path, DEFINITION, WORKLOADS))).values()
    timed = [case.params["rows"] for case in cases if case.timed]
    assert len(timed) == 6
    assert {1, 4096} <= set(timed)
    assert sum(case.held_out for case in cases) == 3  # two workloads, and the odd case


def test_small_and_odd_cases_change_the_variable_axes_alone(tmp_path: Path) -> None:
    problem = loaded(write_trace_set(tmp_path, DEFINITION, WORKLOADS))
    small = [case for case in problem.cases if case.small]
    assert [case.params["rows"] for case in small] == [3, 5]
    assert named(problem)["odd"].params["rows"] == 37
    assert named(problem)["odd"].held_out


def test_sizes_of_small_cases_stay_multiples_of_what_divides_every_workload(tmp_path: Path) -> None:
    even = [workload(number, {"rows": rows}) for number, rows in enumerate((64, 256, 160))]
    problem = loaded(write_folder(tmp_path / "scale", DEFINITION, even))
    assert [case.params["rows"] for case in problem.cases if case.small] == [96, 160]


def test_small_cases_of_bfloat16_are_in_float32(tmp_path: Path) -> None:
    inputs = {name: {**tensor, "dtype": "bfloat16"} for name, tensor in DEFINITION["inputs"].items()}
    problem = loaded(write_folder(tmp_path / "scale", {**DEFINITION, "inputs": inputs}, WORKLOADS))
    assert {case.dtype for case in problem.cases if case.small} == {"float32"}
    assert {case.dtype for case in problem.cases if not case.small} == {None}


def test_a_case_of_our_own_that_the_reference_does_not_take_is_left_out(tmp_path: Path) -> None:
    strict = DEFINITION["reference"].replace("assert", "assert x.shape[0] not in (3, 37)\n    assert", 1)
    problem = loaded(write_folder(tmp_path / "scale", {**DEFINITION, "reference": strict}, WORKLOADS))
    assert [case.params["rows"] for case in problem.cases if case.small] == [5]
    assert "odd" not in named(problem)


def test_a_workload_that_the_reference_does_not_take_is_no_secret(tmp_path: Path) -> None:
    strict = DEFINITION["reference"].replace("assert", "assert x.shape[0] != 4096\n    assert", 1)
    problem = loaded(write_folder(tmp_path / "scale", {**DEFINITION, "reference": strict}, WORKLOADS))
    with pytest.raises(ProblemError, match="AssertionError"):
        problem.specs(named(problem)["4096-00000003"])


def test_constraints_and_computed_axes_are_met_by_our_own_sizes(tmp_path: Path) -> None:
    definition = {
        **DEFINITION,
        "axes": {
            "rows": {"type": "var"},
            "ends": {"type": "var"},
            "flat": {"type": "expr", "expression": "rows * width // 2"},
            "width": {"type": "const", "value": 24},
        },
        "constraints": ["ends == rows + 2", "flat == offsets[-1].item()"],
    }
    both = [workload(number, {"rows": rows, "ends": rows + 2}) for number, rows in enumerate((3, 8, 21))]
    problem = loaded(write_folder(tmp_path / "scale", definition, both))
    small = [case.params for case in problem.cases if case.small]
    assert small
    assert all(params["ends"] == params["rows"] + 2 for params in small)


def test_custom_inputs_are_made_by_the_function_that_the_definition_names(tmp_path: Path) -> None:
    made = """
import torch


def get_inputs(axes_and_scalars, device):
    rows, width = axes_and_scalars["rows"], axes_and_scalars["width"]
    return {"x": torch.zeros(rows, width, device=device), "weight": torch.ones(width, device=device), "eps": 0.25}
"""
    definition = {**DEFINITION, "reference": made + DEFINITION["reference"], "custom_inputs_entrypoint": "get_inputs"}
    custom = {name: {"type": "custom"} for name in DEFINITION["inputs"]}
    problem = loaded(write_folder(tmp_path / "scale", definition, [workload(1, {"rows": 9}, **custom)]))
    x, weight, eps = problem.instance(problem.cases[0], seed=0).inputs
    assert float(x.sum()) == 0.0  # type: ignore[union-attr]
    assert float(weight.sum()) == 24.0  # type: ignore[union-attr]
    assert eps == 0.25


def test_inputs_from_files_are_refused_in_one_line_that_names_them(tmp_path: Path) -> None:
    stored = {"type": "safetensors", "path": "blob.safetensors", "tensor_key": "x"}
    file = write_trace_set(tmp_path, DEFINITION, [workload(1, {"rows": 9}, x=stored)])
    with pytest.raises(ProblemError, match=r"every workload takes x from a safetensors file"):
        find_problem(str(file))


def test_a_workload_from_a_file_among_others_is_left_out_and_counted(tmp_path: Path) -> None:
    stored = {"type": "safetensors", "path": "blob.safetensors", "tensor_key": "x"}
    file = write_trace_set(tmp_path, DEFINITION, [*WORKLOADS, workload(99, {"rows": 9}, x=stored)])
    problem = loaded(file)
    assert "9-00000063" not in named(problem)
    assert problem.stated is not None
    assert problem.stated.facts["left out"] == "1 workloads, whose inputs come from files"


def test_what_the_set_states_is_kept_by_case(tmp_path: Path) -> None:
    stated = [{**WORKLOADS[0], "tolerance": {"max_atol": 0.02, "required_matched_ratio": 0.99}}]
    problem = loaded(write_folder(tmp_path / "scale", DEFINITION, stated))
    assert problem.stated is not None
    assert (problem.stated.set, problem.stated.name) == ("SOL-ExecBench", "scale_h24")
    assert problem.stated.facts["kind"] == "rmsnorm"
    assert problem.stated.cases["64-00000000"] == {
        "uuid": "00000000-0000", "max_atol": 0.02, "required_matched_ratio": 0.99
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reference": "def run(:"}, "its reference is not Python"),
        ({"reference": "x = 1"}, "defines no function run"),
        ({"reference": DEFINITION["reference"] + "\nclass Model: pass\n"},
         "defines Model, which is also a name of the problem"),
        ({"axes": {"rows": {"type": "var"}, "1": {"type": "const", "value": 1}}}, "cannot be a name in Python"),
        ({"axes": 3}, "is no definition"),
        ({"inputs": {"x": {"shape": ["rows"], "dtype": "float4_e2m1"}}}, "in which PyTorch does not compute"),
    ],
)  # fmt: skip
def test_a_definition_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ProblemError, match=words):
        find_problem(str(write_folder(tmp_path / "scale", {**DEFINITION, **change}, WORKLOADS)))


def test_a_definition_without_workloads_says_where_they_were_looked_for(tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text(json.dumps(DEFINITION))
    with pytest.raises(ProblemError, match=r"has no workloads: tried .*scale\.jsonl"):
        find_problem(str(tmp_path / "scale.json"))


def test_a_task_s_configurations_are_cases_of_its_model_and_its_inputs(tmp_path: Path) -> None:
    problem = loaded(write_task(tmp_path / "norm"))
    cases = named(problem)
    assert cases["default"].timed
    assert [case.params["batch_size"] for case in problem.cases] == [5, 7, 5, 7]
    assert all(case.held_out for name, case in cases.items() if name != "default")
    instance = problem.instance(cases["config1"], seed=1)
    assert instance.init_inputs == (12, 1e-5, "random")
    assert instance.inputs[0].shape == (7, 12)  # type: ignore[union-attr]
    assert outputs(instance)[0].shape == (7, 12)


def test_a_task_states_its_tolerance_and_what_its_filters_found(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "task_3")
    (folder / "filter_results.json").write_text('{"filter_output_std": true, "filter_input_impact": false}')
    problem = loaded(folder)
    assert problem.name == f"{tmp_path.name}_task_3"
    assert problem.stated is not None
    assert problem.stated.facts == {"tolerance": "atol = rtol = 1e-05", "filters": "output_std"}


def test_a_backward_task_is_a_problem_with_gradients_and_its_file_names_it(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "norm")
    (folder / "func_backward.py").write_text(TASK)
    (folder / "config_backward.json").write_text((folder / "config_forward.json").read_text().replace("7", "6"))
    assert not loaded(folder).gradients
    assert not loaded(folder / "func_forward.py").gradients
    problem = loaded(folder / "func_backward.py")
    assert problem.gradients
    assert problem.name == "norm_backward"
    assert [case.params["batch_size"] for case in problem.cases] == [5, 6, 5, 6]
    (folder / "func_forward.py").unlink()
    assert loaded(folder).gradients
    (folder / "config_backward.json").unlink()
    with pytest.raises(ProblemError, match=r"config_backward\.json"):
        find_problem(str(folder))


def test_a_task_without_a_value_for_an_argument_is_refused(tmp_path: Path) -> None:
    without = TASK.replace("batch_size: int = 16, width: int = 8", "batch_size, width")
    folder = write_task(tmp_path / "norm", without, {**CONFIG, "single_shared_configs": [{}]})
    with pytest.raises(ProblemError, match="gives no value for width"):
        find_problem(str(folder))


def test_what_is_written_is_an_ordinary_problem_that_a_run_can_copy(tmp_path: Path) -> None:
    found = find_problem(str(write_task(tmp_path / "norm")))
    assert found.is_folder
    assert found.sidecar is not None
    assert decode(found.sidecar.read_bytes(), dict[str, Any])["stated"]["set"] == "robust-kbench"


def test_a_python_file_of_kernelbench_is_used_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "1_Relu.py"
    file.write_text(TASK)
    assert find_problem(str(file)).file == file


def test_nothing_of_a_set_is_executed_to_find_it(tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    find_problem(
        str(write_folder(tmp_path / "a", {**DEFINITION, "reference": text + DEFINITION["reference"]}, WORKLOADS))
    )
    find_problem(str(write_task(tmp_path / "b", text + TASK)))
    assert not (tmp_path / "ran").exists()


def test_a_run_s_copy_has_the_same_cases_once_each_and_what_the_set_states(tmp_path: Path) -> None:
    found = find_problem(str(write_folder(tmp_path / "scale", DEFINITION, WORKLOADS)))
    problem = load_problem(str(found.file))
    copied = load_problem(str(copy_problem(found, tmp_path / "run", problem.cases).file))
    assert (copied.cases, copied.stated) == (problem.cases, problem.stated)


def test_our_own_cases_are_marked_as_derived(tmp_path: Path) -> None:
    problem = loaded(write_folder(tmp_path / "scale", DEFINITION, WORKLOADS))
    assert {case.name for case in problem.cases if case.derived} == {"small1", "small2", "odd"}
