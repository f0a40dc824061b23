"""Loading problems as people write them, and saying what is wrong with those that cannot be loaded."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from kernelwright.errors import ProblemError
from kernelwright.model import Case, TensorSpec
from kernelwright.worker.reference import load, prepare, unmade
from kernelwright.worker.reference.instance import Instance
from kernelwright.worker.reference.load import load_problem

FILES = sorted((Path(__file__).parents[2] / "problems" / "kernelbench").glob("*.py"))
every_file = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])

Write = Callable[..., Path]


def cast_to(case: Case, dtype: str | None) -> Case:
    return msgspec.structs.replace(case, dtype=dtype)


GOOD = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(COLUMNS))
    def forward(self, x):
        return x * self.scale

ROWS = 4
COLUMNS = 8
DOUBLE = 2 * COLUMNS
FACTOR = 1.0

def get_inputs():
    return [(torch.randn(ROWS, DOUBLE) * FACTOR)[:, :COLUMNS]]

def get_init_inputs():
    return []
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a problem (by default a good one) with replacements in its text, and cases beside it."""

    def written(*replacements: tuple[str, str], more: str = "", cases: object = None, name: str = "scale") -> Path:
        text = GOOD
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / f"{name}.py"
        file.write_text(text + more)
        if cases is not None:
            file.with_suffix(".cases.json").write_text(json.dumps(cases))
        return file

    return written


def values(instance: Instance) -> dict[str, object]:
    """Every value in an instance, by name."""
    state: dict[str, object] = dict(instance.module.named_parameters())
    return {
        **state,
        **dict(instance.module.named_buffers()),
        **dict(zip(instance.input_names, instance.inputs, strict=True)),
    }


def same(one: object, other: object) -> bool:
    return (
        torch.equal(one, other) if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) else one == other
    )


# --- files as they are ----------------------------------------------------------------------------------------


def test_there_are_enough_differently_written_files() -> None:
    assert len(FILES) >= 12


@every_file
def test_a_file_gives_what_it_gives_when_used_as_it_is(file: Path) -> None:
    problem = load_problem(str(file))
    assert problem.name == file.stem
    assert problem.format == "kernelbench"
    assert problem.cases == (Case(name="default"),)
    instance = problem.instance(problem.cases[0], seed=3)
    namespace: dict[str, object] = {"__name__": "__direct__"}
    exec(compile(file.read_text().replace("@dataclass", ""), str(file), "exec"), namespace)
    model: type[nn.Module] = namespace["Model"]  # type: ignore[assignment]
    reference = model(*instance.init_inputs).eval()
    reference.load_state_dict(instance.module.state_dict())
    with torch.no_grad():
        expected = reference(*instance.inputs)
    expected = expected if isinstance(expected, list | tuple) else [expected]
    got = load.outputs(instance)
    assert len(got) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(got, expected, strict=True))


@every_file
def test_the_same_seed_gives_the_same_values_and_another_seed_others(file: Path) -> None:
    problem = load_problem(str(file))
    case = problem.cases[0]
    first = values(problem.instance(case, seed=1))
    torch.manual_seed(99)
    random.random()
    again = values(problem.instance(case, seed=1))
    other = values(problem.instance(case, seed=2))
    buffers = dict(problem.instance(case, seed=1).module.named_buffers())
    assert list(first) == list(again) == list(other)
    for name, value in first.items():
        assert same(value, again[name]), name
        if isinstance(value, torch.Tensor) and name not in buffers:
            assert not same(value, other[name]), name


@every_file
def test_no_parameter_is_constant_and_none_asks_for_gradients(file: Path) -> None:
    problem = load_problem(str(file))
    module = problem.instance(problem.cases[0], seed=1).module
    assert not module.training
    for name, parameter in module.named_parameters():
        assert not parameter.requires_grad
        assert parameter.numel() == 1 or parameter.min() < parameter.max(), name


@every_file
@pytest.mark.parametrize("dtype", [None, "float64"])
def test_specs_found_without_memory_are_those_of_a_real_instance(file: Path, dtype: str | None) -> None:
    problem = load_problem(str(file))
    case = problem.cases[0]
    assert problem.specs(cast_to(case, dtype)) == load.specs(problem.instance(cast_to(case, dtype), seed=1))


def kernelbench(name: str) -> load.LoadedProblem:
    return load_problem(str(next(file for file in FILES if file.stem == name)))


def test_names_are_those_of_forward_and_of_the_constructor() -> None:
    problem = kernelbench("bare_parameter_bias")
    instance = problem.instance(problem.cases[0], seed=1)
    assert instance.input_names == ("x",)
    assert instance.init_names == ("in_channels", "out_channels", "kernel_size", "bias_shape")
    assert instance.init_inputs == (3, 5, 3, (5, 1, 1))


def test_arguments_left_at_their_defaults_have_no_name_and_a_star_numbers_its_own() -> None:
    defaults = kernelbench("keyword_defaults")
    assert defaults.instance(defaults.cases[0], seed=1).input_names == ("x", "residual")
    starred = kernelbench("tied_weights")
    assert starred.instance(starred.cases[0], seed=1).input_names == ("tokens_0", "tokens_1", "tokens_2")


def test_numbers_and_none_pass_through_as_inputs() -> None:
    problem = kernelbench("scalar_inputs")
    assert problem.instance(cast_to(problem.cases[0], "float16"), seed=1).inputs[1:] == (3.14, 2, None, True)
    specs = problem.specs(problem.cases[0])
    assert specs.inputs == (TensorSpec(shape=(16, 4), dtype="float32", stride=(4, 1)), 3.14, 2, None, True)
    assert [type(value) for value in specs.inputs[1:]] == [float, int, type(None), bool]


def test_a_parameter_used_twice_is_one_parameter() -> None:
    problem = kernelbench("tied_weights")
    instance = problem.instance(cast_to(problem.cases[0], "float64"), seed=1)
    assert list(problem.specs(problem.cases[0]).parameters) == ["embed.weight"]
    assert instance.module.get_parameter("head.weight") is instance.module.get_parameter("embed.weight")


def test_the_docstring_is_the_files_or_the_models() -> None:
    assert kernelbench("sequential_mlp").docstring == "A multilayer perceptron in one nn.Sequential."
    assert kernelbench("recurrent").docstring == ""


# --- dtypes, parameters, seeds --------------------------------------------------------------------------------


def test_a_dtype_casts_what_is_floating_and_leaves_integers() -> None:
    problem = kernelbench("batch_norm_buffers")
    instance = problem.instance(cast_to(problem.cases[0], "bfloat16"), seed=1)
    found = {name: value.dtype for name, value in values(instance).items() if isinstance(value, torch.Tensor)}
    assert found.pop("bn.num_batches_tracked") == torch.int64
    assert set(found.values()) == {torch.bfloat16}
    problem = kernelbench("embedding_bag")
    tokens, weights = problem.instance(cast_to(problem.cases[0], "float16"), seed=1).inputs
    assert isinstance(tokens, torch.Tensor)
    assert isinstance(weights, torch.Tensor)
    assert (tokens.dtype, weights.dtype) == (torch.int64, torch.float16)


def test_a_cases_dtype_holds_unless_another_is_asked_for(write: Write) -> None:
    problem = load_problem(str(write(cases={"cases": [{"name": "half", "dtype": "float16"}]})))
    case = problem.cases[0]
    assert problem.instance(case, seed=1).module.get_parameter("scale").dtype == torch.float16
    assert problem.instance(cast_to(case, "float64"), seed=1).module.get_parameter("scale").dtype == torch.float64
    assert problem.specs(case).outputs[0].dtype == "float16"


def test_a_dtype_rounds_the_values_of_the_same_seed() -> None:
    problem = kernelbench("sequential_mlp")
    whole = problem.instance(problem.cases[0], seed=5)
    half = problem.instance(cast_to(problem.cases[0], "float16"), seed=5)
    for name, value in values(whole).items():
        assert isinstance(value, torch.Tensor)
        assert same(value.half(), values(half)[name])


def test_casting_an_instance_keeps_its_values_and_leaves_the_original() -> None:
    problem = kernelbench("embedding_bag")
    half = problem.instance(cast_to(problem.cases[0], "float16"), seed=5)
    before = {name: value.clone() for name, value in values(half).items() if isinstance(value, torch.Tensor)}
    exact = load.cast(half, "float64")
    for name, value in values(exact).items():
        assert isinstance(value, torch.Tensor)
        assert value.dtype == (torch.int64 if name == "tokens" else torch.float64)
        assert torch.equal(value.to(before[name].dtype), before[name])
        assert same(values(half)[name], before[name])


def test_a_constant_parameter_is_redrawn_around_its_value_and_buffers_stay() -> None:
    problem = kernelbench("batch_norm_buffers")
    module = problem.instance(problem.cases[0], seed=1).module
    for name, centre in (("bn.weight", 1.0), ("bn.bias", 0.0)):
        parameter = module.get_parameter(name)
        assert 0 < (parameter - centre).abs().max() < 6 * prepare.REDRAWN_SPREAD
    assert torch.equal(module.get_buffer("bn.running_mean"), torch.zeros(6))


READ = """
from pathlib import Path
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        held = torch.load(Path(__file__).with_name("held.pt"))
        self.weight, self.steps = torch.nn.Parameter(held), torch.nn.Parameter(torch.arange(6.0))
        self.frozen = torch.nn.Parameter(held.clone(), requires_grad=False)

    def forward(self, x):
        return x * self.weight + self.steps * self.frozen

def get_inputs():
    return [torch.randn(4, 6)]

def get_init_inputs():
    return []
"""


def test_trained_parameters_that_a_model_reads_have_another_order_for_every_seed(tmp_path: Path) -> None:
    held = torch.randn(6)
    torch.save(held, tmp_path / "held.pt")
    (tmp_path / "read.py").write_text(READ)
    problem = load_problem(str(tmp_path / "read.py"))
    first, second = (problem.instance(problem.cases[0], seed=seed).module for seed in (1, 2))
    assert not torch.equal(first.weight, second.weight)  # type: ignore[arg-type]
    assert torch.equal(first.weight.sort().values, held.sort().values)  # type: ignore[operator]
    assert torch.equal(first.steps, torch.arange(6.0))  # type: ignore[arg-type]
    assert torch.equal(first.frozen, held)  # type: ignore[arg-type]


def test_random_state_outside_is_left_as_it_was() -> None:
    problem = kernelbench("value_dependent")

    def draw() -> tuple[float, float, float]:
        return torch.rand(1).item(), random.random(), float(np.random.random())

    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    expected = draw()
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    problem.instance(problem.cases[0], seed=1)
    problem.specs(problem.cases[0])
    assert draw() == expected


def test_nothing_is_kept_from_one_instance_to_the_next(write: Write) -> None:
    counting = "CALLS = []\ndef get_inputs():\n    CALLS.append(0)\n    return [torch.randn(len(CALLS), COLUMNS)]"
    file = write(("def get_inputs():\n    return [(torch.randn(ROWS, DOUBLE) * FACTOR)[:, :COLUMNS]]", counting))
    problem = load_problem(str(file))
    shapes = [problem.specs(problem.cases[0]).inputs[0] for _ in range(3)]
    assert shapes == [TensorSpec(shape=(1, 8), dtype="float32", stride=(8, 1))] * 3


def test_trained_parameters_of_a_model_that_seeds_have_another_order_for_every_seed(write: Write) -> None:
    own = "torch.manual_seed(3)\n        self.scale = nn.Parameter(torch.randn(COLUMNS))"
    problem = load_problem(str(write(("self.scale = nn.Parameter(torch.ones(COLUMNS))", own))))
    first, second, again = (problem.instance(problem.cases[0], seed=seed).module.scale for seed in (1, 2, 1))
    assert isinstance(first, torch.Tensor)
    assert isinstance(second, torch.Tensor)
    assert isinstance(again, torch.Tensor)
    assert not torch.equal(first, second)
    assert torch.equal(first, again)
    assert torch.equal(first.sort().values, second.sort().values)


def test_inputs_that_fix_their_own_seed_are_refused(write: Write) -> None:
    problem = load_problem(str(write(("def get_inputs():", "def get_inputs():\n    torch.manual_seed(0)"))))
    with pytest.raises(ProblemError, match=r"calls torch\.manual_seed, so that every seed gives the same values"):
        problem.instance(problem.cases[0], seed=1)


# --- cases ----------------------------------------------------------------------------------------------------


def test_a_sidecar_varies_the_constants_of_a_file_and_what_follows_from_them(write: Write) -> None:
    file = write(
        cases={
            "cases": [
                {"name": "wide", "dtype": "bfloat16", "params": {"COLUMNS": 6}},
                {"name": "odd", "held_out": True, "params": {"ROWS": 3, "COLUMNS": 5, "FACTOR": 0.0}},
                {"name": "tiny", "small": True, "params": {"ROWS": 1, "COLUMNS": 1}},
            ]
        }
    )
    problem = load_problem(str(file))
    assert problem.format == "kernelbench"
    wide, odd, tiny = problem.cases
    assert (wide.timed, odd.timed, tiny.timed) == (True, False, False)
    assert problem.specs(wide).inputs == (TensorSpec(shape=(4, 6), dtype="bfloat16", stride=(6, 1)),)
    assert problem.specs(wide).parameters == {"scale": TensorSpec(shape=(6,), dtype="bfloat16", stride=(1,))}
    assert problem.specs(odd).inputs == (TensorSpec(shape=(3, 5), dtype="float32", stride=(10, 1)),)
    assert not torch.cat(load.outputs(problem.instance(odd, seed=1))).any()
    assert problem.specs(tiny).outputs[0].shape == (1, 1)


def test_cases_give_arguments_to_the_functions_that_name_them(write: Write) -> None:
    file = write(
        ("def get_inputs():", "def get_inputs(ROWS=2, *, columns=8):"),
        ("DOUBLE", "columns"),
        ("columns = 2", "DOUBLE = 2"),
        ("    def __init__(self):", "    def __init__(self, COLUMNS):"),
        ("def get_init_inputs():\n    return []", "def get_init_inputs(columns=8):\n    return [columns]"),
        ("FACTOR)[:, :COLUMNS]", "FACTOR)[:, :columns]"),
        more='\nCASES = [dict(name="a", dtype="float16", ROWS=5, columns=7, FACTOR=2.0), dict(name="b")]\n',
    )
    problem = load_problem(str(file))
    assert problem.format == "native"
    assert problem.cases[0] == Case(name="a", dtype="float16", params={"ROWS": 5, "columns": 7, "FACTOR": 2.0})
    assert problem.specs(problem.cases[0]).inputs[0] == TensorSpec(shape=(5, 7), dtype="float16", stride=(7, 1))
    assert problem.instance(problem.cases[0], seed=1).init_inputs == (7,)
    assert problem.specs(problem.cases[1]).outputs[0].shape == (2, 8)


def test_a_folder_is_native_and_named_after_itself(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "rescale"
    folder.mkdir()
    write().rename(folder / "problem.py")
    for path in (folder, folder / "problem.py"):
        problem = load_problem(str(path))
        assert (problem.name, problem.format) == ("rescale", "native")


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ([], "no case to time"),
        ([{"name": "a", "held_out": True}, {"name": "b", "small": True}], "no case to time"),
        ([{"name": "a"}, {"name": "a"}], "the case name 'a' is empty or used twice"),
        ([{"name": ""}], "the case name '' is empty or used twice"),
        ([{"name": "a", "dtype": "int32"}], "'int32' is no floating-point dtype"),
        ([{"name": "a", "dtype": "nn"}], "'nn' is no floating-point dtype"),
        ([{"name": "a", "params": {"rows": 3}}], "nothing takes the parameter 'rows' of case 'a'"),
        ([{"name": "a", "params": {"torch": 3}}], "nothing takes the parameter 'torch' of case 'a'"),
        ([{"name": "a", "params": {"ROWS": [1]}}], "`$.cases[0].params[...]`"),
        ([{"name": "a", "shape": 3}], "unknown field `shape`"),
        ([{"dtype": "float16"}], "missing required field `name`"),
    ],
)
def test_a_bad_case_is_refused_with_its_reason(write: Write, cases: object, said: str) -> None:
    with pytest.raises(ProblemError) as caught:
        load_problem(str(write(cases={"cases": cases})))
    assert said in str(caught.value)
    assert "scale." in str(caught.value)


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ("7", "CASES is a int, expected a list of dicts"),
        ("[3]", "3 in CASES: Expected `object`, got `int`"),
        ("[dict(ROWS=3)]", "missing required field `name`"),
        ("[dict(name='a', ROWS=(1, 2))]", "in CASES: Expected `bool | int | float | str | null`, got `array`"),
        ("[dict(name='a', held_out=1)]", "Expected `bool`, got `int` - at `$.held_out`"),
        ("[dict(name='a', rows=3)]", "nothing takes the parameter 'rows'"),
    ],
)
def test_a_bad_entry_in_cases_is_refused_with_its_reason(write: Write, cases: str, said: str) -> None:
    with pytest.raises(ProblemError) as caught:
        load_problem(str(write(more=f"\nCASES = {cases}\n")))
    assert said in str(caught.value)


def test_cases_in_two_places_are_refused(write: Write) -> None:
    file = write(more="\nCASES = [dict(name='a')]\n", cases={"cases": [{"name": "a"}]})
    with pytest.raises(ProblemError, match=r"has CASES, and scale\.cases\.json lies beside it"):
        load_problem(str(file))


def test_a_sidecar_may_begin_with_a_byte_order_mark(write: Write) -> None:
    file = write()
    file.with_suffix(".cases.json").write_text('\ufeff{"cases": [{"name": "marked"}]}', encoding="utf-8")
    assert [case.name for case in load_problem(str(file)).cases] == ["marked"]


def test_a_broken_sidecar_is_named(write: Write) -> None:
    file = write()
    file.with_suffix(".cases.json").write_text('{"cases": [')
    with pytest.raises(ProblemError, match=r"scale\.cases\.json: Input data was truncated"):
        load_problem(str(file))


# --- least work -----------------------------------------------------------------------------------------------


def test_flop_is_counted_on_cases_that_no_memory_could_hold(write: Write) -> None:
    linear = ("self.scale = nn.Parameter(torch.ones(COLUMNS))", "self.scale = nn.Linear(COLUMNS, ROWS, bias=False)")
    rows = {"ROWS": 1 << 20, "COLUMNS": 1 << 24}
    file = write(linear, ("x * self.scale", "self.scale(x)"), cases={"cases": [{"name": "huge", "params": rows}]})
    problem = load_problem(str(file))
    specs = problem.specs(problem.cases[0])
    assert problem.least_work(problem.cases[0]).flop == {"float32": 2 * 2**20 * 2**24 * 2**20}
    assert specs.parameters["scale.weight"].shape == (1 << 20, 1 << 24)
    assert load.compulsory_bytes(specs) == 4 * (2**44 + 2**44 + 2**40)
    names = problem.outline(problem.cases[0])
    assert (names.input_names, names.init_inputs) == (("x",), ())


def test_flop_that_the_counter_does_not_know_is_zero() -> None:
    problem = kernelbench("batch_norm_buffers")
    assert problem.least_work(problem.cases[0]).flop == {}


def test_each_input_parameter_and_output_counts_once_and_what_is_expanded_too() -> None:
    full = TensorSpec(shape=(4, 8), dtype="float16", stride=(8, 1))
    repeated = TensorSpec(shape=(5, 8), dtype="float32", stride=(0, 1))
    empty = TensorSpec(shape=(0, 8), dtype="float32", stride=(0, 1))
    flags = TensorSpec(shape=(3,), dtype="bool", stride=(1,))
    scalar = TensorSpec(shape=(), dtype="float64", stride=())
    specs = load.Specs(inputs=(full, 3, repeated, None), outputs=(full, flags), parameters={"a": scalar, "b": empty})
    assert load.compulsory_bytes(specs) == 64 + 32 + 64 + 3 + 8


def test_stated_work_is_called_with_the_parameters_that_it_names(write: Write) -> None:
    stated = (
        "\ndef work(ROWS, dtype, share=1):\n    return {'bytes': ROWS * (2 if dtype == 'float16' else 4) * share}\n"
    )
    cases = [{"name": "a", "dtype": "float16", "params": {"ROWS": 6}}, {"name": "b", "params": {"ROWS": 6}}]
    problem = load_problem(str(write(more=stated, cases={"cases": cases})))
    assert [problem.work(case) for case in problem.cases] == [(None, 12), (None, 24)]


def test_without_stated_work_there_is_none(write: Write) -> None:
    problem = load_problem(str(write()))
    assert problem.work(problem.cases[0]) == (None, None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 7", "work returned 7, expected a dict"),
        ("return {'flops': 7}", "work returned {'flops': 7}"),
        ("return {'flop': 7.5}", "work states flop = 7.5, expected a whole number from 0"),
        ("return {'bytes': -1}", "work states bytes = -1"),
        ("return {'flop': 1 / 0}", "work raised ZeroDivisionError"),
    ],
)
def test_bad_stated_work_is_refused(write: Write, body: str, said: str) -> None:
    problem = load_problem(str(write(more=f"\ndef work():\n    {body}\n")))
    with pytest.raises(ProblemError) as caught:
        problem.work(problem.cases[0])
    assert said in str(caught.value)


def test_work_that_needs_what_the_case_does_not_give_is_refused(write: Write) -> None:
    problem = load_problem(str(write(more="\ndef work(ROWS):\n    return {}\n")))
    with pytest.raises(ProblemError, match="work needs ROWS"):
        problem.work(problem.cases[0])


def test_a_large_case_that_looks_at_values_is_refused_instead_of_run(write: Write) -> None:
    looks = ("        return x * self.scale", "        return x * self.scale if x.sum().item() > 0 else x")
    rows = [{"name": "small"}, {"name": "huge", "params": {"ROWS": 1 << 40}}]
    problem = load_problem(str(write(looks, cases={"cases": rows})))
    assert problem.specs(problem.cases[0]).outputs[0].shape == (4, 8)
    with pytest.raises(ProblemError, match="case 'huge' cannot be described without its values") as caught:
        problem.specs(problem.cases[1])
    assert "scale.py, line 10" in str(caught.value)
    assert str(1 << 44) in str(caught.value)


def test_a_large_case_that_looks_at_values_is_described_where_it_runs(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = ("        return x * self.scale", "        return x[x[:, 0].isfinite().nonzero()[:, 0]] * self.scale")
    problem = load_problem(str(write(looks)))
    monkeypatch.setattr(unmade, "MOST_REAL_ELEMENTS", 8)
    assert problem.specs(problem.cases[0]).outputs[0].shape == (4, 8), "on the CPU up to another limit"
    monkeypatch.setattr(unmade, "MOST_ON_CPU", 8)
    with pytest.raises(ProblemError, match="cannot be described without its values"):
        problem.specs(problem.cases[0])
    on_device = replace(problem, device="cpu:0")
    assert on_device.specs(problem.cases[0]).outputs[0].shape == (4, 8), "without a limit on a device"


def test_a_constructor_may_look_at_values_that_it_counted_beside_tensors_of_any_size(write: Write) -> None:
    drawn = (
        "        return x * self.scale",
        "        return x * self.scale * self.rates[-1] + self.places[: x.shape[1]]",
    )
    made = "super().__init__()\n        self.rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]\n"
    made += "        self.parts = [one.tolist() for one in torch.linspace(0, 0.5, 3).split((1, 2))]\n"
    made += "        self.places = torch.arange(1 << 40)\n"
    rows = [{"name": "huge", "params": {"ROWS": 1 << 40}}]
    problem = load_problem(str(write(drawn, ("super().__init__()\n", made), cases={"cases": rows})))
    assert problem.specs(problem.cases[0]).outputs[0].shape == (1 << 40, 8)
    assert problem.outline(problem.cases[0]).module.rates == [0.0, 0.25, 0.5]


def test_what_a_constructor_changes_in_place_is_changed_once_where_it_was_counted(write: Write) -> None:
    drawn = ("        return x * self.scale", "        return x[self.places.sum(0)] * self.scale")
    made = "super().__init__()\n        places = torch.arange(4).view(2, 2)\n        places[0] += 1\n"
    made += "        places[1] *= 0\n        self.register_buffer('places', places)\n"
    problem = load_problem(str(write(drawn, ("super().__init__()\n", made), cases={"cases": [{"name": "one"}]})))
    assert problem.outline(problem.cases[0]).module.places.tolist() == [[1, 2], [0, 0]]
    reads = {read.name: read for read in problem.least_work(problem.cases[0]).reads}
    assert reads["input x"].rows == 2


def test_an_index_out_of_range_is_refused_and_no_error_of_ours(write: Write) -> None:
    drawn = ("        return x * self.scale", "        return x[self.places] * self.scale")
    made = "super().__init__()\n        self.register_buffer('places', torch.arange(9_000))\n"
    problem = load_problem(str(write(drawn, ("super().__init__()\n", made), cases={"cases": [{"name": "one"}]})))
    with pytest.raises(ProblemError, match=r"deriving its least work raised IndexError: index .* is out of bounds"):
        problem.least_work(problem.cases[0])


def test_a_file_that_parses_the_command_line_gets_its_defaults(tmp_path: Path) -> None:
    given = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--rows', type=int, default=7)\n"
    text = given + (
        "import torch\nargs = parser.parse_args()\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x.relu()\ndef get_inputs():\n    return [torch.randn(parser.parse_args().rows, args.rows)]\n"
        "def get_init_inputs():\n    return []\n"
    )
    (tmp_path / "parsed.py").write_text(text)
    before = list(sys.argv)
    problem = load_problem(str(tmp_path / "parsed.py"))
    assert problem.instance(problem.cases[0], seed=0).inputs[0].shape == (7, 7)
    assert sys.argv == before


def test_a_file_with_a_byte_order_mark_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(GOOD, encoding="utf-8-sig")
    assert load_problem(str(tmp_path / "marked.py")).cases


# --- what cannot be loaded, or not called ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "line 1: "),
        ("x = 1", "does not define Model, get_inputs, get_init_inputs"),
        (GOOD.replace("get_init_inputs", "get_init"), "does not define get_init_inputs"),
        (GOOD.replace("def get_inputs", "def inputs") + "\nget_inputs = 3\n", "does not define get_inputs"),
        (GOOD.replace("(nn.Module)", ""), "expected a subclass of torch.nn.Module"),
        ("import no_such_module\n" + GOOD, "line 1: importing it raised ModuleNotFoundError: No module named 'no_such"),
        (GOOD + "\nraise SystemExit(3)\n", "importing it raised SystemExit: 3"),
        (GOOD + "\nraise KeyboardInterrupt\n", "importing it raised KeyboardInterrupt"),
        (GOOD + "\n1 / 0\n", "importing it raised ZeroDivisionError"),
    ],
)
def test_a_file_that_is_not_a_problem_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(ProblemError) as caught:
        load_problem(str(file))
    assert said in str(caught.value)
    assert "bad.py" in str(caught.value)


def test_what_is_not_a_python_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9")
    (tmp_path / "empty").mkdir()
    for name, said in (("notes.txt", "is not a Python file"), ("latin.py", "UTF-8"), ("empty", "No such file")):
        with pytest.raises(ProblemError, match=said):
            load_problem(str(tmp_path / name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "return [(torch.randn",
            "return [undefined, (torch.randn",
            "line 18: get_inputs raised NameError: name 'undef",
        ),
        (
            "return [(torch.randn(ROWS, DOUBLE) * FACTOR)[:, :COLUMNS]]",
            "return torch.ones(3)",
            "returned a Tensor, exp",
        ),
        ("    return [(torch", "    return [[torch.ones(2)], (torch", "forward cannot take the 2 values of get_inputs"),
        (
            "return [(torch.randn(ROWS, DOUBLE) * FACTOR)[:, :COLUMNS]]",
            "return [[torch.ones(3)]]",
            "line 10: forward raised TypeError",
        ),
        ("def get_inputs():", "def get_inputs(rows):", "get_inputs needs rows"),
        ("return []", "return [3]", "Model cannot take the 1 values of get_init_inputs"),
        ("torch.ones(COLUMNS)", "torch.ones(-1)", "line 8: Model raised RuntimeError"),
        ("nn.Parameter(torch.ones(COLUMNS))", "nn.LazyLinear(3)", "scale.weight has no shape before the first call"),
        ("return x * self.scale", "return x @ x", "line 10: forward raised RuntimeError"),
        ("return x * self.scale", "return x.shape[0]", "output 0 of forward is a int, expected a tensor"),
    ],
)
def test_a_problem_that_cannot_be_called_is_refused(write: Write, old: str, new: str, said: str) -> None:
    problem = load_problem(str(write((old, new))))
    with pytest.raises(ProblemError) as caught:
        problem.specs(problem.cases[0])
    assert said in str(caught.value)
    assert "scale.py" in str(caught.value)


def test_complex_values_are_cast_to_the_precision_that_is_asked_for(write: Write) -> None:
    text = write(("torch.ones(COLUMNS)", "torch.randn(COLUMNS, dtype=torch.complex64)"), ("torch.randn(ROWS, DOUBLE)",
                 "torch.randn(ROWS, DOUBLE, dtype=torch.complex64)"))  # fmt: skip
    problem = load_problem(str(text))
    instance = problem.instance(problem.cases[0], seed=1)
    wide = load.cast(instance, "float64")
    assert {value.dtype for value in values(wide).values() if isinstance(value, torch.Tensor)} == {torch.complex128}
    assert {v.dtype for v in values(instance).values() if isinstance(v, torch.Tensor)} == {torch.complex64}
    assert load.outputs(wide)[0].dtype == torch.complex128
    assert load.outputs(load.cast(wide, "float32"))[0].dtype == torch.complex64


def test_a_constant_complex_parameter_is_drawn_again(write: Write) -> None:
    problem = load_problem(str(write(("torch.ones(COLUMNS)", "torch.ones(COLUMNS, dtype=torch.complex64)"))))
    one, other = (problem.instance(problem.cases[0], seed=seed).module.get_parameter("scale") for seed in (1, 2))
    assert len(set(one.tolist())) == 8
    assert not torch.equal(one, other)


IN_PLACE = "    def forward(self, x):\n        return x * self.scale"


@pytest.mark.parametrize(
    ("forward", "named"),
    [
        ("return x.mul_(self.scale)", "input x"),
        ("x[0].add_(1)\n        return x * self.scale", "input x"),
        ("return torch.add(x, self.scale, out=x)", "input x"),
        ("return nn.ReLU(inplace=True)(x.t())", "input x"),
        ("self.scale.mul_(2)\n        return x * self.scale", "parameter scale"),
        ("self.calls += 1\n        return x * self.scale * self.calls", "buffer calls"),
        ("self.calls = self.calls + 1\n        return x * self.scale * self.calls", "buffer calls"),
    ],
)
def test_a_forward_that_changes_what_it_is_given_is_refused_by_name(write: Write, forward: str, named: str) -> None:
    counting = "        super().__init__()\n        self.register_buffer('calls', torch.zeros(()))"
    buffered = ("        super().__init__()", counting)
    problem = load_problem(str(write(buffered, (IN_PLACE, f"    def forward(self, x):\n        {forward}"))))
    said = rf"scale\.py: forward changes {named} in place.*work on a copy: {named.split()[1]} = "
    with pytest.raises(ProblemError, match=said):
        problem.specs(problem.cases[0])
    with pytest.raises(ProblemError, match=said):
        load.outputs(problem.instance(problem.cases[0], seed=1))


def test_a_forward_may_change_what_it_has_made_itself(write: Write) -> None:
    forward = "    def forward(self, x):\n        x = x.clone()\n        x += 1\n        return x.mul_(self.scale)"
    problem = load_problem(str(write((IN_PLACE, forward))))
    instance = problem.instance(problem.cases[0], seed=1)
    first, again = load.outputs(instance)[0], load.outputs(instance)[0]
    assert torch.equal(first, again)


def test_an_unknown_dtype_asked_for_is_refused(write: Write) -> None:
    problem = load_problem(str(write()))
    with pytest.raises(ProblemError, match="'half8' is no floating-point dtype"):
        problem.instance(cast_to(problem.cases[0], "half8"), seed=1)


@pytest.mark.parametrize("line", ["del builtins.len", "builtins.len = None"])
def test_a_file_that_changes_pythons_own_names_is_refused_and_they_are_put_back(write: Write, line: str) -> None:
    before = len
    with pytest.raises(ProblemError, match=r"scale\.py changes len of Python's builtins"):
        load_problem(str(write(more=f"\nimport builtins\n{line}\n")))
    assert len is before


STATE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.state = torch.randn(16)

    def forward(self, x):
        return x + self.state

def get_inputs():
    return [torch.randn(4, 16)]

def get_init_inputs():
    return []
"""


def test_a_tensor_in_an_attribute_is_a_buffer_where_tensors_have_no_memory_too(tmp_path: Path) -> None:
    file = tmp_path / "state.py"
    file.write_text(STATE)
    problem = load_problem(str(file))
    assert list(problem.specs(problem.cases[0]).parameters) == ["state"]


VIEWED = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(8, 8).tril().view(1, 8, 8))

    def forward(self, x):
        return x.masked_fill(self.mask[:, :4, :4] == 0, 0.0)

def get_inputs():
    return [torch.randn(2, 4, 4)]

def get_init_inputs():
    return []
"""


def test_a_buffer_that_is_a_view_is_compiled_in_another_dtype(tmp_path: Path) -> None:
    file = tmp_path / "viewed.py"
    file.write_text(VIEWED)
    problem = load_problem(str(file))
    instance = problem.instance(cast_to(problem.cases[0], "bfloat16"), seed=1)
    (x,) = instance.inputs
    with torch.no_grad():
        made = torch.compile(instance.module, backend="aot_eager")(x)
    assert isinstance(x, torch.Tensor)
    assert torch.equal(made, x.tril())


LIBRARY_FILE = """import torch
{stated}
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.randn(4)]
def get_init_inputs():
    return []
"""


def test_which_library_steps_are_allowed_is_stated_in_the_file_or_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    for stated, mode in (("", None), ('LIBRARY = "none"', "none"), ('LIBRARY = "any"', "any")):
        file.write_text(LIBRARY_FILE.format(stated=stated))
        assert load_problem(str(file)).library == mode
    file.with_suffix(".cases.json").write_text('{"cases": [{"name": "a"}], "library": "none"}')
    assert load_problem(str(file)).library == "none"
    file.with_suffix(".cases.json").unlink()
    file.write_text(LIBRARY_FILE.format(stated='LIBRARY = "cublas"'))
    with pytest.raises(ProblemError, match="LIBRARY is 'cublas'"):
        load_problem(str(file))
