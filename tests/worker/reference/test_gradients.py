"""The reference of a problem with GRADIENTS: forward, then autograd, as one module."""

from __future__ import annotations

import copy
from pathlib import Path

import msgspec
import pytest
import torch

from kernelwright.errors import ProblemError
from kernelwright.worker.reference import baseline
from kernelwright.worker.reference.derive import derive
from kernelwright.worker.reference.instance import cast, outputs
from kernelwright.worker.reference.load import LoadedProblem, load_problem

PROBLEM = """\
import torch

GRADIENTS = True


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(5))
        self.frozen = torch.nn.Parameter(torch.randn(5), requires_grad=False)

    def forward(self, x, ids):
        return (x * self.weight).tanh() + self.frozen, ids + 1, x.sum(-1)


def get_inputs():
    return [torch.randn(3, 5), torch.arange(4)]


def get_init_inputs():
    return []
"""


def loaded(tmp_path: Path, *changes: tuple[str, str]) -> LoadedProblem:
    text = PROBLEM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "joint.py"
    file.write_text(text)
    return load_problem(str(file))


def test_outputs_are_followed_by_the_gradients_that_autograd_computes(tmp_path: Path) -> None:
    problem = loaded(tmp_path)
    (case,) = problem.cases
    instance = problem.instance(case, seed=3)
    assert instance.input_names == ("x", "ids", "grad_0", "grad_1")
    x, ids, grad_0, grad_1 = instance.inputs
    assert isinstance(x, torch.Tensor)
    assert isinstance(grad_0, torch.Tensor)
    assert isinstance(grad_1, torch.Tensor)
    assert (grad_0.shape, grad_1.shape) == ((3, 5), (3,))
    weight = instance.module.get_parameter("weight")
    made = outputs(instance)
    slope = 1 - (x * weight).tanh() ** 2
    assert len(made) == 5
    torch.testing.assert_close(made[0], (x * weight).tanh() + instance.module.get_parameter("frozen"))
    assert torch.equal(made[1], torch.as_tensor(ids) + 1)
    torch.testing.assert_close(made[3], grad_0 * slope * weight + grad_1[:, None])
    torch.testing.assert_close(made[4], (grad_0 * slope * x).sum(0))
    assert not any(output.requires_grad for output in made)
    assert not weight.requires_grad


def test_each_seed_has_gradients_of_its_own(tmp_path: Path) -> None:
    problem = loaded(tmp_path)
    (case,) = problem.cases
    one, same, other = (problem.instance(case, seed=seed).inputs[2] for seed in (1, 1, 2))
    assert isinstance(one, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    assert torch.equal(one, torch.as_tensor(same))
    assert not torch.equal(one, other)


def test_a_copy_in_float64_has_parameters_of_its_own(tmp_path: Path) -> None:
    problem = loaded(tmp_path)
    (case,) = problem.cases
    instance = problem.instance(case, seed=3)
    wide = cast(instance, "float64")
    assert [output.dtype for output in outputs(wide)] == [
        torch.float64, torch.int64, torch.float64, torch.float64, torch.float64,
    ]  # fmt: skip
    before = outputs(wide)[3]
    copied = copy.deepcopy(instance.module)
    with torch.no_grad():
        copied.get_parameter("weight").mul_(3)
        instance.module.get_parameter("weight").mul_(2)
    assert torch.equal(outputs(wide)[3], before)
    assert not torch.equal(copied(*instance.inputs)[3], outputs(instance)[3])


def test_compiled_it_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = loaded(tmp_path)
    (case,) = problem.cases
    instance = problem.instance(case, seed=3)
    graphs: list[torch.fx.GraphModule] = []

    def compiling(function: object, **options: object) -> object:
        def backend(graph: torch.fx.GraphModule, inputs: object) -> torch.fx.GraphModule:
            graphs.append(graph)
            return graph

        return compiled(function, backend=backend)

    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", compiling)
    module = baseline.compiled(instance.module, "compile")
    for made, expected in zip(module(*instance.inputs), outputs(instance), strict=True):
        torch.testing.assert_close(made, expected)
    assert len(graphs) == 1
    assert baseline.compiled(instance.module, "eager") is instance.module


def test_a_word_for_a_truth_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="expected False or True"):
        loaded(tmp_path, ("GRADIENTS = True", "GRADIENTS = 1"))


IN_PLACE = ("GRADIENTS = True", 'GRADIENTS, MUTATES = True, ("x",)'), ("return (x", "return (x.mul_(2)")
NESTED = (
    ("def forward(self, x, ids):", "def forward(self, both):\n        x, ids = both"),
    ("return [torch.randn(3, 5), torch.arange(4)]", "return [[torch.randn(3, 5), torch.arange(4)]]"),
)
BY_NAME = (
    ("def forward(self, x, ids):", "def forward(self, x, *, ids):"),
    ("return [torch.randn(3, 5), torch.arange(4)]", 'return {"x": torch.randn(3, 5), "ids": torch.arange(4)}'),
)
NESTED_OUTPUT = (
    ("return (x * self.weight).tanh() + self.frozen, ids + 1, x.sum(-1)", 'return {"y": x * self.weight}'),
)
NAMED_AS_A_GRADIENT = (("self, x, ids", "self, x, grad_0"), (", ids + 1", ", grad_0 + 1"))
WHOLE = (("return (x * self.weight).tanh() + self.frozen, ids + 1, x.sum(-1)", "return ids + 1"),)


@pytest.mark.parametrize(("changes", "message"), [
    (IN_PLACE, "both"), (WHOLE, "no floating-point output"), (NESTED, "nested or passed by name .give each tensor"),
    (BY_NAME, "nested or passed by name"), (NESTED_OUTPUT, "outputs that are nested"),
    (NAMED_AS_A_GRADIENT, "an argument of forward is called grad_0"),
])  # fmt: skip
def test_what_has_no_gradients_is_refused(tmp_path: Path, changes: tuple[tuple[str, str], ...], message: str) -> None:
    problem = loaded(tmp_path, *changes)
    with pytest.raises(ProblemError, match=message):
        problem.specs(problem.cases[0])


def test_forward_runs_once_for_the_shapes_of_its_outputs_whatever_is_drawn(tmp_path: Path) -> None:
    counts = tmp_path / "calls"
    counted = f"with open({str(counts)!r}, 'a') as file:\n            file.write('.')"
    problem = loaded(
        tmp_path, ("    def forward(self, x, ids):\n", f"    def forward(self, x, ids):\n        {counted}\n")
    )
    (case,) = problem.cases
    for seed in range(3):
        problem.instance(case, seed=seed)
    assert counts.read_text() == "."
    problem.instance(msgspec.structs.replace(case, dtype="float64"), seed=0)
    assert counts.read_text() == ".."


def test_a_parameter_that_forward_does_not_use_has_no_gradient(tmp_path: Path) -> None:
    """robust-kbench's linear layers keep a second layer that nothing reads; autograd gives None for it."""
    second = "        self.unused = torch.nn.Parameter(torch.randn(2))\n"
    problem = loaded(tmp_path, ("        self.frozen", second + "        self.frozen"))
    instance = problem.instance(problem.cases[0], seed=3)
    assert instance.gradients_of == ("x", "weight")
    assert all(parameter.requires_grad is False for parameter in instance.module.parameters())
    assert [one.shape for one in outputs(instance)[3:]] == [(3, 5), (5,)]


@pytest.mark.parametrize("forward", [
    "torch.tanh(x * self.weight)", "torch.nn.functional.layer_norm(x, (x.shape[1],)) * self.weight",
    "x[:, : x.shape[1] // 2] * x[:, x.shape[1] // 2 :]", "x[:, 0] * x[:, -1]", "x.amax(1, keepdim=True) * self.weight",
])  # fmt: skip
def test_a_problem_with_gradients_and_no_cases_gets_derived_ones(tmp_path: Path, forward: str) -> None:
    problem = loaded(
        tmp_path, ("torch.randn(3, 5)", "torch.randn(rows, width)"), ("torch.randn(5))\n", "torch.randn(width))\n"),
        ("(x * self.weight).tanh() + self.frozen, ids + 1, x.sum(-1)", forward),
        ("GRADIENTS = True", "GRADIENTS = True\nrows = 4096\nwidth = 512"),
    )  # fmt: skip
    found = derive(problem)
    assert found.left_alone.get("") is None
    assert {case.name for case in found.cases} >= {"derived_small", "derived_odd"}
    assert all(int(case.params["rows"]) < 4096 for case in found.cases)
    assert any(int(case.params.get("width", 512)) < 512 for case in found.cases)


EXPERTS = """\
import torch

GRADIENTS = True


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ParameterList(torch.randn(5, 5) for _ in range(4))

    def forward(self, x, which):
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (which == number).nonzero().flatten()
            if rows.numel():
                out = out.index_copy(0, rows, x[rows] @ expert)
        return out


def get_inputs():
    return [torch.randn(3, 5), torch.randint(0, 4, (3,))]


def get_init_inputs():
    return []
"""


def test_a_parameter_that_is_used_for_some_values_only_keeps_its_gradient(tmp_path: Path) -> None:
    (tmp_path / "experts.py").write_text(EXPERTS)
    problem = load_problem(str(tmp_path / "experts.py"))
    for seed in range(5):
        instance = problem.instance(problem.cases[0], seed=seed)
        assert instance.gradients_of == ("x", *(f"experts.{number}" for number in range(4)))
        assert [one.shape for one in outputs(instance)[2:]] == [(5, 5)] * 4
