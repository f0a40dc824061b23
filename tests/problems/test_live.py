"""Problems made from live modules and functions: what they hold, and that a real worker takes them."""

from __future__ import annotations

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
from kernelwright.problems.live import inputs, write_function, write_module
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


def qualified(worker: Worker, problem: ProblemPath) -> ProblemInfo:
    """The problem as a worker sees it, which it has to find fit for judging."""
    info = worker.load(str(problem.file))
    report = worker.qualify(every=True)
    assert report.qualifies, report.reason
    return info


def shapes(info: ProblemInfo, case: int = 0) -> list[Any]:
    return [spec.shape if isinstance(spec, TensorSpec) else spec for spec in info.cases[case].inputs]


# --- modules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(5,), (2, 3), (4, 1, 2)])
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
    assert info.parameters == {name: tuple(value.shape) for name, value in module.named_parameters()}
    assert sorted(info.modules) == ["acme/__init__.py", "acme/activation.py", "acme/block.py"]
    assert info.cases[0].init == (24, 48, 1e-4)
    assert info.cases[0].init_names == ("width", "hidden", "eps")


def test_sizes_of_inputs_and_arguments_of_the_module_are_parameters_of_cases(acme: ModuleType, tmp_path: Path) -> None:
    made = write_module(acme.Block(24), [torch.randn(5, 24)], {}, "mine", tmp_path)
    made.file.write_text(made.file.read_text().replace('dict(name="full")', 'dict(name="full", width=12, x_size0=7)'))
    specs = load.load_problem(str(made.file))
    info = specs.specs(specs.cases[1])
    assert isinstance(info.inputs[0], TensorSpec)
    assert (info.inputs[0].shape, info.parameters["up.weight"].shape) == ((7, 12), (48, 12))


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
    module.load_state_dict(instance.module.state_dict())
    x, mask = instance.inputs
    with torch.no_grad():
        assert torch.equal(instance.module(x, mask), module(x, mask=mask))


def test_a_tree_of_the_frameworks_own_modules_needs_no_class(worker: Worker, tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(12, 16), nn.GELU(approximate="tanh"), nn.Linear(16, 4, bias=False))
    info = qualified(worker, write_module(module, torch.randn(3, 12), {}, "mlp", tmp_path))
    assert list(info.parameters) == ["0.weight", "0.bias", "2.weight"]
    assert "GELU(approximate='tanh')" in info.source


def test_a_module_cast_as_a_whole_is_cast_in_the_problem(acme: ModuleType, worker: Worker, tmp_path: Path) -> None:
    made = write_module(acme.Block(24).bfloat16(), torch.randn(5, 24).bfloat16(), {}, "mine", tmp_path)
    info = qualified(worker, made)
    assert [one.outputs[0].dtype for one in info.cases] == ["float32", "bfloat16"]
    assert info.cases[1].parameters["up.weight"].dtype == "bfloat16"


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
    assert list(info.modules) == ["session_code.py"]
    assert "FACTOR = 0.25" in info.modules["session_code.py"]
    assert "uses_a_tensor" not in info.modules["session_code.py"]
    problem = load.load_problem(str(made.file))
    assert torch.equal(problem.instance(problem.cases[1], seed=1).module.table, module.table)  # type: ignore[arg-type]


def test_a_function_of_a_notebook_that_uses_a_tensor_of_it_is_refused(cell: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"'x', which uses_a_tensor uses, is a Tensor.*\(make it an input\)"):
        write_function(cell["uses_a_tensor"], torch.randn(3), None, tmp_path)


def test_arguments_that_leave_no_trace_are_asked_for_and_can_be_given(
    acme: ModuleType, worker: Worker, tmp_path: Path
) -> None:
    module = acme.block.Forgetful(8, scale=3.0)
    with pytest.raises(ProblemError, match=r"was constructed with 'width'.*pass arguments=\{'width': …\}"):
        write_module(module, torch.randn(4, 8), {}, "mine", tmp_path)
    with pytest.raises(ProblemError, match=r"Forgetful.factor is 6.0, and 2.0 when constructed again \(pass arguments"):
        write_module(module, torch.randn(4, 8), {"width": 8}, "mine", tmp_path)
    made = write_module(module, torch.randn(4, 8), {"width": 8, "scale": 3.0}, "mine", tmp_path)
    assert qualified(worker, made).cases[0].init == (8, 3.0)


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


@pytest.mark.parametrize("shape", [(40,), (6, 10), (2, 3, 8)])
def test_a_function_is_a_problem(shape: tuple[int, ...], worker: Worker, tmp_path: Path) -> None:
    info = qualified(worker, write_function(gated, [torch.randn(shape), torch.randn(shape)], None, tmp_path))
    assert info.name == "gated"
    assert shapes(info) == [shape, shape]


@pytest.mark.parametrize("shape", [(40,), (6, 10), (2, 3, 8)])
def test_a_partial_function_keeps_what_it_was_given(shape: tuple[int, ...], worker: Worker, tmp_path: Path) -> None:
    partial = functools.partial(gated, scale=0.5)
    made = write_function(partial, [torch.randn(shape), torch.randn(shape), 0], None, tmp_path)
    assert shapes(qualified(worker, made)) == [shape, shape, 0]
    problem = load.load_problem(str(made.file))
    instance = problem.instance(problem.cases[0], seed=3)
    assert torch.equal(instance.module(*instance.inputs), partial(*instance.inputs))  # type: ignore[arg-type]


def test_a_function_within_a_function_brings_the_numbers_around_it(worker: Worker, tmp_path: Path) -> None:
    slope, offsets = 0.125, (1.0, 2.0)

    def leaky(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x + offsets[0], x * slope)

    info = qualified(worker, write_function(leaky, torch.randn(9, 7), None, tmp_path))
    assert "slope = 0.125" in info.modules["session_code.py"]
    assert "offsets = (1.0, 2.0)" in info.modules["session_code.py"]


def test_a_lambda_with_a_line_of_its_own_has_source(worker: Worker, tmp_path: Path) -> None:
    wave = lambda x: torch.sin(x) * 3  # noqa: E731
    qualified(worker, write_function(wave, torch.randn(9, 7), "wave", tmp_path))


def test_a_function_of_the_framework_is_a_problem(worker: Worker, tmp_path: Path) -> None:
    info = qualified(worker, write_function(torch.logaddexp, [torch.randn(9, 7), torch.randn(9, 7)], None, tmp_path))
    assert "torch.logaddexp(" in info.source


def test_large_inputs_give_shapes_and_dtypes_only(
    monkeypatch: pytest.MonkeyPatch, worker: Worker, tmp_path: Path
) -> None:
    monkeypatch.setattr(inputs, "STORED_BYTES", 6 * 10 * 4 + 6 * 8 - 1)

    def picked(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return x[rows] * 2

    made = write_function(picked, [torch.randn(6, 10), torch.randint(0, 6, (6,))], None, tmp_path)
    assert made.beside == (made.file.parent / "sources" / "session_code.py",)
    info = qualified(worker, made)
    assert [one.case.name for one in info.cases] == ["full"]
    assert shapes(info) == [(6, 10), (6,)]


def test_ones_and_zeros_stand_for_a_shape(worker: Worker, tmp_path: Path) -> None:
    qualified(worker, write_function(gated, [torch.ones(6, 10), torch.zeros(6, 10)], None, tmp_path))


# --- refusals -----------------------------------------------------------------------------------------------


def closing_over(value: Any) -> Any:
    def function(x: torch.Tensor) -> Any:
        return x * value

    return function


X = torch.randn(3, 4)
UNKNOWN = eval("lambda x: x * 2")
PAIR = (lambda x: x + 1, lambda x: x + 2)


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (closing_over(torch.ones(4)), X, r"'value', which .*function uses, is a Tensor.*\(make it an input\)"),
        (closing_over(object()), X, r"'value', which .*function uses, is a object, which cannot be written"),
        (UNKNOWN, X, r"the source of <lambda> is not available \(define it in a file or a notebook cell\)"),
        (PAIR[0], X, r"2 definitions of <lambda> there, expected one \(write a lambda on a separate line"),
        (functools.partial(gated, X), X, r"function gated is a Tensor.*\(make it an input\)"),
        (X.add, X, "is a builtin_function_or_method, which cannot be written"),
        (nn.Linear(4, 4), X, r"a module is not a function \(use Problem.from_module\)"),
        (gated, [X], "forward cannot take the example inputs: missing a required argument: 'y'"),
        (gated, [X, [X]], r"input y is a list, expected a tensor.*\(give each tensor as a separate argument\)"),
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
    hooked, replaced = acme.Block(24), acme.Block(24)
    hooked.up.register_forward_hook(lambda *given: None)
    replaced.norm.forward = torch.relu
    mixed = acme.Block(24)
    mixed.norm.half()
    cases = {
        r"argument 'config' of Block is a object, which cannot be written": acme.Block(24, config=object()),
        r"Block.up has forward hooks.*\(remove them first\)": hooked,
        r"the forward of this Block.norm was replaced": replaced,
        r"Block has parameters of torch.float16, torch.float32.*\(cast the whole module to one dtype\)": mixed,
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
    assert not (tmp_path / "name" / "sources" / "session_code.py").exists()  # of the function before
    assert made.starter is not None
    (tmp_path / "name" / "problem.py").write_text("import torch\n")
    with pytest.raises(ProblemError, match=r"exists and was not written from a live object \(give another name"):
        write_function(gated, [X, X], "name", tmp_path)


def test_a_program_names_a_problem_as_it_names_a_path(tmp_path: Path) -> None:
    made = Problem.from_function(gated, [X, X], folder=tmp_path)
    assert made == Problem.find(tmp_path / "gated")
    assert Path(made) == made.path == tmp_path / "gated" / "problem.py"
    assert made.name == "gated"
    module = Problem.from_module(nn.Linear(4, 4), X, arguments={"in_features": 4}, name="linear", folder=tmp_path)
    assert "Linear" in module.path.read_text()


def test_a_run_takes_sources_and_values_along(worker: Worker, acme: ModuleType, tmp_path: Path) -> None:
    made = write_module(acme.Block(24), [torch.randn(5, 24)], {}, "mine", tmp_path)
    copy = copy_problem(made, tmp_path / "run")
    there = {file.relative_to(copy.file.parent).as_posix() for file in copy.beside}
    assert there == {"sources/acme/__init__.py", "sources/acme/activation.py", "sources/acme/block.py", "example.pt"}
    assert copy_problem(made, tmp_path / "run") == copy
    for file in made.file.parent.rglob("*.*"):
        file.unlink(missing_ok=True) if file.is_file() else None
    assert worker.load(str(copy.file)).name == "mine"
