"""Problems made from live modules and functions: what they hold, and that a real worker takes them."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import linecache
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

from kernelwright.errors import ProblemError
from kernelwright.jobs.worker import Worker, local_worker
from kernelwright.model import ProblemInfo, TensorSpec
from kernelwright.problems import ProblemPath, copy_problem
from kernelwright.problems.live import inputs, write_live
from kernelwright.problems.live.compare import Answer, difference
from kernelwright.problems.problem import Problem
from kernelwright.worker.reference import load
from kernelwright.worker.reference.derive import derive

PACKAGE = {
    "__init__.py": "from .block import Block\n",
    "activation.py": """
        import enum

        import torch


        class Kind(enum.Enum):
            SHIFTED = 1


        def shifted(x, by=0.5):
            return torch.nn.functional.silu(x) + by
        """,
    "block.py": """
        from torch import nn

        from . import activation
        from .activation import Kind, shifted


        class Block(nn.Module):
            def __init__(self, width, hidden=48, act=shifted, kind=Kind.SHIFTED, eps=1e-6, config=None):
                super().__init__()
                self.width, self.hidden, self.act, self.kind, self.config = width, hidden, act, kind, config
                self.up = nn.Linear(width, hidden)
                self.norm = nn.LayerNorm(hidden, eps=eps)
                self.eps = eps

            def forward(self, x, *, mask=None):
                y = self.norm(self.act(self.up(x)))
                return y if mask is None else y * mask


        class Forgetful(nn.Module):
            def __init__(self, width, scale=1.0):
                super().__init__()
                self.factor = scale * 2
                self.up = nn.Linear(width, width)

            def forward(self, x):
                return self.up(x) * self.factor
        """,
}


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A package of the user's, in a folder of theirs."""
    home = tmp_path_factory.mktemp("home")
    (home / "acme").mkdir()
    for name, text in PACKAGE.items():
        (home / "acme" / name).write_text(textwrap.dedent(text))
    sys.path.insert(0, str(home))
    yield importlib.import_module("acme")
    sys.path.remove(str(home))
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with local_worker(None) as started:
        yield started


def write_module(module: Any, given: Any, arguments: dict[str, Any], name: str | None, folder: Path) -> ProblemPath:
    return write_live(module, given, {}, arguments, name, folder)


def write_function(function: Any, given: Any, name: str | None, folder: Path) -> ProblemPath:
    return write_live(function, given, {}, None, name, folder)


def qualified(worker: Worker, problem: ProblemPath) -> ProblemInfo:
    """The problem as a worker sees it, which it has to find fit for judging."""
    info = worker.load(str(problem.file))
    report = worker.qualify()
    assert report.qualifies, report.reason
    return info


def shapes(info: ProblemInfo, case: int = 0) -> list[Any]:
    return [spec.shape if isinstance(spec, TensorSpec) else spec for spec in info.cases[case].inputs]


# --- modules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(5,), (4, 1, 2)])
def test_a_module_of_ones_own_package_is_a_problem_with_its_sources(
    batch: tuple[int, ...], acme: ModuleType, worker: Worker, tmp_path: Path
) -> None:
    module = acme.Block(24, eps=1e-4)
    made = write_module(module, [torch.randn(*batch, 24)], {}, "mine", tmp_path)
    info = qualified(worker, made)
    assert [one.case.name for one in info.cases] == ["example", "full"]
    assert [one.case.small for one in info.cases] == [True, False]
    assert shapes(info) == [(*batch, 24)]
    assert info.cases[0].outputs[0].shape == (*batch, 48)
    assert info.parameters == {f"module.{name}": tuple(value.shape) for name, value in module.named_parameters()}
    assert sorted(info.modules) == ["acme/__init__.py", "acme/activation.py", "acme/block.py", "mine_code.py"]
    assert info.cases[0].init == (24, 48)
    assert info.cases[0].init_names == ("width", "hidden")


def test_sizes_of_inputs_and_arguments_of_the_module_are_parameters_of_cases(acme: ModuleType, tmp_path: Path) -> None:
    made = write_module(acme.Block(24), [torch.randn(5, 24)], {}, "mine", tmp_path)
    made.file.write_text(made.file.read_text().replace('dict(name="full")', 'dict(name="full", width=12, x_size0=7)'))
    specs = load.load_problem(str(made.file))
    info = specs.specs(specs.cases[1])
    assert isinstance(info.inputs[0], TensorSpec)
    assert (info.inputs[0].shape, info.parameters["module.up.weight"].shape) == ((7, 12), (48, 12))


def test_inputs_are_the_examples_values_in_another_order_for_every_seed(acme: ModuleType, tmp_path: Path) -> None:
    x, mask = torch.randn(6, 24), torch.arange(6).view(6, 1) > 2
    made = write_module(acme.Block(24), {"x": x, "mask": mask}, {}, "mine", tmp_path)
    problem = load.load_problem(str(made.file))
    first, second = (problem.instance(problem.cases[0], seed=seed).inputs for seed in (1, 2))
    assert isinstance(first[0], torch.Tensor)
    assert isinstance(second[0], torch.Tensor)
    assert not torch.equal(first[0], second[0])
    assert torch.equal(first[0].flatten().sort().values, x.flatten().sort().values)
    assert isinstance(first[1], torch.Tensor)
    assert torch.equal(first[1], mask)


def test_inputs_of_other_sizes_are_made_from_the_examples(acme: ModuleType, tmp_path: Path) -> None:
    x, mask = torch.randn(6, 24), torch.arange(6).view(6, 1) > 2
    made = write_module(acme.Block(24), {"x": x, "mask": mask}, {}, "mine", tmp_path)
    problem = load.load_problem(str(made.file))
    for rows, kept in ((4, [0, 0, 1, 1]), (9, [0, 0, 0, 0, 0, 1, 1, 1, 1]), (6, [0, 0, 0, 1, 1, 1])):
        case = msgspec.structs.replace(problem.cases[0], params={"x_size0": rows})
        drawn, ascending = problem.instance(case, seed=3).inputs
        assert isinstance(drawn, torch.Tensor)
        assert isinstance(ascending, torch.Tensor)
        assert ascending.flatten().int().tolist() == kept
        assert drawn.shape == (rows, 24)
        values, times = drawn.unique(return_counts=True)
        assert len(values) == min(rows, 6) * 24
        assert int(times.max()) - int(times.min()) <= 1
        assert torch.isin(drawn, x.flatten()[-24:]).any(), "the last of the example's values, too"


def test_another_batch_is_derived_for_a_live_module_so_that_its_kernel_serves_any(
    acme: ModuleType, tmp_path: Path
) -> None:
    x, mask = torch.randn(40, 24), torch.arange(40).view(40, 1) > 20
    made = write_module(acme.Block(24), {"x": x, "mask": mask}, {}, "mine", tmp_path)
    [odd] = derive(load.load_problem(str(made.file))).cases
    assert (odd.held_out, odd.params) == (True, {"x_size0": 3, "width": 17, "hidden": 33})


def test_keyword_inputs_reach_forward_by_name(acme: ModuleType, worker: Worker, tmp_path: Path) -> None:
    module = acme.Block(24).eval()
    made = write_module(module, {"x": torch.randn(5, 24), "mask": torch.rand(5, 1) + 0.5}, {}, "mine", tmp_path)
    assert [one.input_names for one in qualified(worker, made).cases] == [("x", "mask")] * 2
    problem = load.load_problem(str(made.file))
    instance = problem.instance(problem.cases[0], seed=3)
    module.load_state_dict(instance.module.module.state_dict())  # type: ignore[union-attr]
    x, mask = instance.inputs
    with torch.no_grad():
        assert torch.equal(instance.module(x, mask), module(x, mask=mask))


def test_a_tree_of_the_frameworks_own_modules_needs_no_class(worker: Worker, tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(12, 16), nn.GELU(approximate="tanh"), nn.Linear(16, 4, bias=False))
    info = qualified(worker, write_module(module, torch.randn(3, 12), {}, "mlp", tmp_path))
    assert list(info.parameters) == ["module.0.weight", "module.0.bias", "module.2.weight"]


def test_a_module_cast_as_a_whole_is_cast_in_the_problem(acme: ModuleType, worker: Worker, tmp_path: Path) -> None:
    made = write_module(acme.Block(24).bfloat16(), torch.randn(5, 24).bfloat16(), {}, "mine", tmp_path)
    info = qualified(worker, made)
    assert [one.outputs[0].dtype for one in info.cases] == ["float32", "bfloat16"]
    assert info.cases[1].parameters["module.up.weight"].dtype == "bfloat16"


CELL = """
import torch
from torch import nn

x = torch.ones(3)
FACTOR = 0.25


def scaled(table):
    return table * FACTOR


class Table(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows
        self.register_buffer("table", torch.zeros(rows, 6, dtype=torch.int32))

    def forward(self, x):
        return x @ scaled(self.table.to(x.dtype))


def uses_a_tensor(y):
    return y * x


class Shifted(nn.Module):
    by = 2.0

    def forward(self, x):
        return x + self.by


class Doubled(torch.autograd.Function):
    slope = 2.0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * Doubled.slope
"""


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a cell of a notebook defines: no import reaches it, and `linecache` has its text."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(CELL), None, CELL.splitlines(keepends=True), "<cell 1>"))
    exec(compile(CELL, "<cell 1>", "exec"), vars(main))
    return vars(main)


def test_a_class_of_a_notebook_brings_its_source_and_the_buffers_that_were_changed(
    cell: dict[str, Any], worker: Worker, tmp_path: Path
) -> None:
    module = cell["Table"](9)
    module.table.copy_(torch.randint(-8, 8, (9, 6)))
    made = write_module(module, [torch.randn(4, 9)], {}, None, tmp_path)
    assert made.name == "table"
    info = qualified(worker, made)
    assert list(info.modules) == ["table_code.py"]
    assert "FACTOR = 0.25" in info.modules["table_code.py"]
    assert "uses_a_tensor" not in info.modules["table_code.py"]
    problem = load.load_problem(str(made.file))
    found = dict(problem.instance(problem.cases[1], seed=1).module.named_buffers())
    assert torch.equal(found["module.table"], module.table)


def test_a_function_of_a_notebook_that_uses_a_tensor_of_it_is_refused(cell: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"'x', which uses_a_tensor uses, is a Tensor.*\(make it an input\)"):
        write_function(cell["uses_a_tensor"], torch.randn(3), None, tmp_path)


def test_a_module_whose_constructor_left_no_trace_is_written_and_arguments_vary_its_sizes(
    acme: ModuleType, worker: Worker, tmp_path: Path
) -> None:
    module = acme.block.Forgetful(8, scale=3.0)
    assert qualified(worker, write_module(module, torch.randn(4, 8), {}, "mine", tmp_path)).cases[0].init == ()
    with pytest.raises(ProblemError, match=r"Forgetful does not give this module again: tensor 0 differs by up to"):
        write_module(module, torch.randn(4, 8), {"width": 8}, "mine", tmp_path)
    made = write_module(module, torch.randn(4, 8), {"width": 8, "scale": 3.0}, "mine", tmp_path)
    assert qualified(worker, made).cases[0].init == (8,)
    problem = load.load_problem(str(made.file))
    case = msgspec.structs.replace(problem.cases[0], params={"width": 6})
    assert problem.instance(case, seed=1).module.module.factor == 6.0  # type: ignore[union-attr]


def test_reading_a_module_leaves_it_and_the_random_state_as_they_were(acme: ModuleType, tmp_path: Path) -> None:
    module = acme.Block(24)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    write_module(module, torch.randn(5, 24, generator=torch.Generator().manual_seed(0)), {}, "mine", tmp_path)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


# --- functions ----------------------------------------------------------------------------------------------


def gated(x: torch.Tensor, y: torch.Tensor, dim: int = -1, *, scale: float = 1.0) -> torch.Tensor:
    return torch.softmax(x * scale, dim) * y


@pytest.mark.parametrize("shape", [(40,), (2, 3, 8)])
def test_a_function_is_a_problem_and_a_partial_one_keeps_what_it_was_given(
    shape: tuple[int, ...], worker: Worker, tmp_path: Path
) -> None:
    info = qualified(worker, write_function(gated, [torch.randn(shape), torch.randn(shape)], None, tmp_path))
    assert info.name == "gated"
    assert shapes(info) == [shape, shape]
    partial = functools.partial(gated, scale=0.5)
    problem = load.load_problem(
        str(write_function(partial, [torch.randn(shape), torch.randn(shape), 0], "partial", tmp_path).file)
    )
    instance = problem.instance(problem.cases[0], seed=3)
    assert [one.shape for one in instance.inputs] == [shape, shape]  # type: ignore[union-attr]
    assert torch.equal(instance.module(*instance.inputs), partial(*instance.inputs, 0))  # type: ignore[arg-type]


def test_a_function_within_a_function_brings_the_numbers_around_it(worker: Worker, tmp_path: Path) -> None:
    slope, offsets = 0.125, (1.0, 2.0)

    def leaky(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x + offsets[0], x * slope)

    info = qualified(worker, write_function(leaky, torch.randn(9, 7), None, tmp_path))
    assert "leaky = make_leaky(offsets=(1.0, 2.0), slope=0.125)" in info.modules["leaky_code.py"]


def test_a_lambda_with_a_line_of_its_own_has_source(worker: Worker, tmp_path: Path) -> None:
    wave = lambda x: torch.sin(x) * 3  # noqa: E731
    qualified(worker, write_function(wave, torch.randn(9, 7), "wave", tmp_path))


def test_a_function_of_the_framework_is_a_problem(tmp_path: Path) -> None:
    made = write_function(torch.logaddexp, [torch.randn(9, 7), torch.randn(9, 7)], None, tmp_path)
    assert "torch.logaddexp(" in made.file.read_text()


def test_large_inputs_give_shapes_and_dtypes_only(
    monkeypatch: pytest.MonkeyPatch, worker: Worker, tmp_path: Path
) -> None:
    monkeypatch.setattr(inputs, "STORED_BYTES", 6 * 10 * 4 + 6 * 8 - 1)

    def picked(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return x[rows] * 2

    made = write_function(picked, [torch.randn(6, 10), torch.randint(0, 6, (6,))], None, tmp_path)
    assert made.beside == (made.file.parent / "sources" / "picked_code.py",)
    info = qualified(worker, made)
    assert [one.case.name for one in info.cases] == ["full"]
    assert shapes(info) == [(6, 10), (6,)]


def test_ones_and_zeros_stand_for_a_shape(worker: Worker, tmp_path: Path) -> None:
    qualified(worker, write_function(gated, [torch.ones(6, 10), torch.zeros(6, 10)], None, tmp_path))


def times(factor: float) -> Any:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any) -> Any:
            return function(*args) * factor

        return inner

    return decorate


def summed(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * 2).sum()


@torch.no_grad()
def without_gradients(x: torch.Tensor) -> torch.Tensor:
    return x.cos()


def transformed() -> dict[str, Any]:
    @times(3)
    @times(2)
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    return {
        "grad": torch.func.grad(summed),
        "vmap": torch.func.vmap(torch.func.grad(summed)),
        "grad of grad": torch.func.grad(lambda x: torch.func.grad(summed)(x).sum()),
        "decorated": decorated,
        "decorated module level": without_gradients,
        "compiled": torch.compile(without_gradients, backend="eager"),
        "method": Scaled(0.5).apply,
    }


class Scaled:
    def __init__(self, by: float) -> None:
        self.by = by

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


@pytest.mark.parametrize("name", transformed())
def test_a_function_under_decorators_and_transforms_is_what_they_returned(name: str, tmp_path: Path) -> None:
    x, function = torch.randn(5, 6), transformed()[name]
    made = write_function(function, x, "made", tmp_path)
    problem = load.load_problem(str(made.file))
    instance = problem.instance(problem.cases[0], seed=1)
    assert torch.equal(instance.module(*instance.inputs), function(instance.inputs[0]))


# --- nested arguments and results ---------------------------------------------------------------------------


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor
    note: str = "plain"


class Bag:
    """An object with attributes, such as a configuration or a cache."""

    def __init__(self, values: list[torch.Tensor]) -> None:
        self.values = values


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor, rotary: Any, *, options: Any, bag: Bag, mask: Any = None) -> Any:
        cos, sin = rotary
        y = x * cos * self.scale + options["bias"] * sin
        return Pair(y, y + bag.values[0]), (y, None)


def nested_call(rows: int = 5) -> tuple[list[Any], dict[str, Any]]:
    x, cos, sin, bias, more = (torch.randn(rows, 6) for _ in range(5))
    return [x, (cos, sin)], {"options": {"bias": bias, "flag": True}, "bag": Bag([more]), "mask": None}


def test_tensors_in_tuples_dicts_dataclasses_and_objects_are_inputs_and_outputs(worker: Worker, tmp_path: Path) -> None:
    positional, named = nested_call()
    module = Nested()
    made = write_live(module, positional, named, {}, "made", tmp_path)
    info = qualified(worker, made)
    assert info.cases[0].input_names == ("x", "rotary_0", "rotary_1", "options_bias", "bag_values_0")
    assert info.cases[0].arguments == info.cases[0].returns == ""
    assert [one.shape for one in info.cases[0].outputs] == [(5, 6)] * 3


def growing(x: torch.Tensor, bag: Bag) -> torch.Tensor:
    bag.values[0] = torch.cat([bag.values[0], x])
    return bag.values[0].sum(0)


def test_a_call_that_puts_other_tensors_into_an_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="puts other tensors into one of its arguments, as into a cache"):
        write_function(growing, [torch.randn(2, 3), Bag([torch.randn(4, 3)])], None, tmp_path)


def test_inputs_that_a_call_changes_in_place_are_stated(worker: Worker, tmp_path: Path) -> None:
    def update(cache: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        cache[:, 0] = x
        return x * 2

    made = write_function(update, [torch.randn(5, 4), torch.randn(5)], None, tmp_path)
    assert qualified(worker, made).cases[0].mutates == ("cache",)


# --- the module by import and state -------------------------------------------------------------------------


def changed_modules(acme: ModuleType) -> dict[str, nn.Module]:
    hooked, replaced, mixed = acme.Block(24), acme.Block(24), acme.Block(24)
    hooked.up.register_forward_hook(functools.partial(hook, 2))
    replaced.norm.forward = torch.relu
    mixed.norm.double()
    weight_norm, orthogonal = nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.orthogonal
    inner = nn.Sequential(nn.Linear(24, 16), nn.GELU())
    inner[0].compile(backend="eager")
    return {
        "a hook": hooked,
        "a replaced forward": replaced,
        "parametrized": weight_norm(nn.Linear(24, 8)),
        "a parametrized part": nn.Sequential(orthogonal(nn.Linear(24, 24)), nn.Tanh()),
        "compiled": torch.compile(inner, backend="eager"),  # type: ignore[dict-item]
        "a compiled part": nn.Sequential(torch.compile(inner, backend="eager"), nn.Tanh()),  # type: ignore[arg-type]
        "in training": nn.Sequential(nn.Linear(24, 8), nn.Dropout(0.5)),
    }


def hook(factor: float, module: nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
    return output * factor


CHANGED = ("a hook", "a replaced forward", "parametrized", "a parametrized part", "compiled", "a compiled part",
           "in training")  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_a_module_is_the_reference_as_it_is(name: str, acme: ModuleType, tmp_path: Path) -> None:
    module, x = changed_modules(acme)[name], torch.randn(5, 24)
    made = write_module(module, x, {}, "made", tmp_path)
    problem = load.load_problem(str(made.file))
    reference = problem._module(problem.cases[0]).Model()
    training = module.training
    with torch.no_grad():
        assert torch.equal(reference.eval()(x), module.eval()(x))
    assert training, "writing leaves the mode"


def test_a_module_of_which_the_written_one_gives_another_result_is_refused(
    cell: dict[str, Any], tmp_path: Path
) -> None:
    function = cell["scaled"]
    function.__defaults__ = ()
    assert write_function(function, torch.randn(3, 4), "same", tmp_path).file.is_file()
    cell["Shifted"].by = 3.0  # the text of the class says 2
    with pytest.raises(ProblemError, match="the written problem gives another result than Shifted: tensor 0 differs"):
        write_module(cell["Shifted"](), torch.randn(3, 4), {}, "other", tmp_path)
    assert not (tmp_path / "other").exists()


def test_gradients_are_compared_where_they_are_part_of_the_problem(
    cell: dict[str, Any], worker: Worker, tmp_path: Path
) -> None:
    made = write_live(nn.Linear(6, 4), torch.randn(5, 6), {}, {}, "made", tmp_path, gradients=True)
    assert len(qualified(worker, made).cases[0].outputs) == 4
    function = cell["Doubled"].apply
    cell["Doubled"].slope = 3.0  # the text of the class says 2
    assert write_live(function, torch.randn(3), {}, None, "forward", tmp_path).file.is_file()
    with pytest.raises(ProblemError, match="gives another result than apply: tensor 1 differs by up to"):
        write_live(function, torch.randn(3), {}, None, "both", tmp_path, gradients=True)


def test_results_that_differ_from_call_to_call_may_differ_twice_as_much() -> None:
    def answer(value: float) -> Answer:
        return Answer(None, (torch.tensor([1.0, value, float("nan")]),), ())

    first, second = answer(2.0), answer(2.5)
    assert difference(answer(3.0), first, second) == ""
    assert difference(answer(3.5), first, second) == "tensor 0 differs by up to 1.5"
    assert difference(answer(2.5), first, first) == "tensor 0 differs by up to 0.5"
    assert difference(answer(float("nan")), first, second) == "tensor 0 differs by up to inf"


# --- sizes --------------------------------------------------------------------------------------------------


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.mT + bias, -1) @ v


def sizes_of(made: ProblemPath) -> str:
    return next(line for line in made.file.read_text().splitlines() if line.startswith("def get_inputs"))


def test_sizes_of_one_value_are_tied_only_where_one_cannot_vary_alone(tmp_path: Path) -> None:
    q, k, v = (torch.randn(6, 6) for _ in range(3))
    made = write_function(attention, [q, k, v, torch.randn(1, 6)], None, tmp_path)
    assert sizes_of(made) == "def get_inputs(q_size0=6, q_size1=6, k_size0=6, v_size1=6):"
    text = made.file.read_text()
    assert "drawn('k', k_size0, q_size1)" in text
    assert "drawn('v', k_size0, v_size1)" in text
    assert "drawn('bias', 1, k_size0)" in text


class Viewed(nn.Module):
    """Takes the batch from its second input: more of it alone would be fewer rows of the first."""

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return x.reshape(other.shape[0], -1, 8) + other.sum()


def test_a_size_is_tied_where_an_output_falls_as_it_grows(tmp_path: Path) -> None:
    made = write_module(Viewed(), [torch.randn(2, 4, 8), torch.randn(2, 3)], {}, "made", tmp_path)
    assert sizes_of(made) == "def get_inputs(x_size0=2, x_size1=4, x_size2=8, other_size1=3):"


def test_a_size_that_the_module_fixes_is_a_number(tmp_path: Path) -> None:
    made = write_module(nn.Sequential(nn.Linear(8, 8)), torch.randn(8, 8), {}, "made", tmp_path)
    assert "drawn('input', input_size0, 8)" in made.file.read_text()


# --- refusals -----------------------------------------------------------------------------------------------


def closing_over(value: Any) -> Any:
    def function(x: torch.Tensor) -> Any:
        return x * value

    return function


class Silent:
    """Nothing can be read of it."""

    __slots__ = ()

    def __rmul__(self, other: torch.Tensor) -> torch.Tensor:
        return other


X = torch.randn(3, 4)
UNKNOWN = eval("lambda x: x * 2")
PAIR = (lambda x: x + 1, lambda x: x + 2)


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (closing_over(torch.ones(4)), X, r"'value', which .*function uses, is a Tensor.*\(make it an input\)"),
        (closing_over(Silent()), X, r"'value', which .*function uses, is a Silent, which cannot be written"),
        (UNKNOWN, X, r"the source of <lambda> is not available \(define it in a file or a notebook cell\)"),
        (PAIR[0], X, r"2 definitions of <lambda> there, expected one \(write a lambda on a separate line"),
        (functools.partial(gated, X), X, r"gated.args\[0\] is a Tensor.*\(make it an input\)"),
        (X.add, X, "is a builtin_function_or_method, which cannot be written"),
        (nn.Linear(4, 4), X, r"a module is not a function \(use Problem.from_module\)"),
        (gated, [X], "forward cannot take the example inputs: missing a required argument: 'y'"),
        (gated, [X, [X]], r"gated cannot be called with the example inputs: TypeError: "),
        (gated, [X, object()], "y is a object, which cannot be written into a file"),
        (gated, [1.0, 2.0], r"no tensor is among the example inputs"),
        (gated, [X.to_sparse(), X], r"input x is no dense tensor \(torch.sparse_coo\)"),
        (gated, "x", "example_inputs is a str"),
    ],
)  # fmt: skip
def test_a_function_that_cannot_be_stored_is_refused_in_one_line(
    function: Any, given: Any, says: str, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError, match=says) as refused:
        write_function(function, given, "name", tmp_path)
    assert "\n" not in str(refused.value)
    assert not any(tmp_path.iterdir())


def test_a_module_that_cannot_be_stored_is_refused_in_one_line(acme: ModuleType, tmp_path: Path) -> None:
    cases = {
        r"cannot be copied: TypeError: cannot pickle 'generator' object \(remove that attribute first\)": acme.Block(
            24, config=(one for one in ())
        ),
        "int is no torch.nn.Module": 3,
    }
    for says, module in cases.items():
        with pytest.raises(ProblemError, match=says) as refused:
            write_module(module, torch.randn(5, 24), {}, "name", tmp_path)
        assert "\n" not in str(refused.value)
    assert not any(tmp_path.iterdir())


# --- the folder ---------------------------------------------------------------------------------------------


def test_a_folder_made_from_an_object_is_written_again_and_no_other_is(tmp_path: Path) -> None:
    write_function(closing_over(2.0), X, "name", tmp_path)
    (tmp_path / "name" / "starter.py").write_text("# mine\n")
    made = write_function(gated, [X, X], "name", tmp_path)
    assert "make_function" not in (tmp_path / "name" / "sources" / "name_code.py").read_text()  # of the function before
    assert made.starter is not None
    (tmp_path / "name" / "problem.py").write_text("import torch\n")
    with pytest.raises(ProblemError, match=r"exists and was not written from a live object \(give another name"):
        write_function(gated, [X, X], "name", tmp_path)


def test_a_program_names_a_problem_as_it_names_a_path(tmp_path: Path) -> None:
    made = Problem.from_function(gated, [X, X], folder=tmp_path)
    assert made == Problem.find(tmp_path / "gated")
    assert Path(made) == made.path == tmp_path / "gated" / "problem.py"
    assert made.name == "gated"
    module = Problem.from_module(nn.Linear(4, 4), X, name="linear", folder=tmp_path)
    assert "Linear" in module.path.read_text()


def test_a_run_takes_sources_and_values_along(worker: Worker, acme: ModuleType, tmp_path: Path) -> None:
    made = write_module(acme.Block(24), [torch.randn(5, 24)], {}, "mine", tmp_path)
    copy = copy_problem(made, tmp_path / "run")
    there = {file.relative_to(copy.file.parent).as_posix() for file in copy.beside}
    sources = {f"sources/{name}.py" for name in ("acme/__init__", "acme/activation", "acme/block", "mine_code")}
    assert there == {*sources, "example.pt", "module.pt"}
    assert copy_problem(made, tmp_path / "run") == copy
    for file in made.file.parent.rglob("*.*"):
        file.unlink(missing_ok=True) if file.is_file() else None
    assert worker.load(str(copy.file)).name == "mine"
