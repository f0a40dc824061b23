"""`solve(input, output, N)` becomes the entry of a candidate."""

from __future__ import annotations

import pytest

from entered import case, problem
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled
from kernelwright.model import ProblemInfo


def entry(signature: str, made: ProblemInfo, head: str = "import torch\n\n\n") -> str:
    source = f"{head}def solve({signature}):\n    pass\n"
    return with_entry(source, made).removeprefix(source).strip()


ROWS = problem(
    case({"x": (40, 8), "weight": (8,)}, [(40, 8)], {"rows": 40, "width": 8}),
    case({"x": (30, 70), "weight": (70,)}, [(30, 70)], {"rows": 30, "width": 70}),
)


def test_inputs_are_passed_and_outputs_are_allocated_in_order() -> None:
    assert entry("a: torch.Tensor, b: torch.Tensor, c: torch.Tensor", ROWS) == (
        "def kernel_function(x, weight):\n"
        "    c = torch.empty((x.shape[0], x.shape[1]), dtype=x.dtype, device=x.device)\n"
        "    solve(x, weight, c)\n"
        "    return c"
    )


def test_sizes_are_those_of_the_problem_whatever_their_order_and_case() -> None:
    text = entry("x, out, Width: int, ROWS, weight", ROWS)
    assert "solve(x, out, x.shape[1], x.shape[0], weight)" in text


def test_a_number_of_the_problem_that_is_no_size_is_passed_as_it_is() -> None:
    scaled = problem(case({"x": (40,)}, [(40,)], {"n": 40, "scale": 0.5}))
    assert "solve(x, out, 0.5)" in entry("x, out, scale", scaled)


def test_a_size_of_another_name_is_the_only_one_of_the_inputs() -> None:
    flat = problem(case({"x": (40,)}, [(40,)], {"n": 40}), case({"x": (7,)}, [(7,)], {"n": 7}))
    assert "solve(x, output, x.shape[0])" in entry("input, output, N: int", flat)
    assert "solve(x, output, x.shape[0])" in entry("input, output, length: int", flat)


def test_shapes_of_outputs_are_sizes_numbers_or_computed_from_two_sizes() -> None:
    windows = problem(
        case({"x": (40, 8), "taps": (3,)}, [(38, 8), (2,), (320,)]),
        case({"x": (20, 5), "taps": (4,)}, [(17, 5), (2,), (100,)]),
    )
    text = entry("x, taps, a, b, c", windows)
    assert "a = torch.empty((x.shape[0] - taps.shape[0] + 1, x.shape[1])," in text
    assert "b = torch.empty((2,)," in text
    assert "c = torch.empty((x.shape[0] * x.shape[1],)," in text
    assert text.endswith("return a, b, c")


def test_an_output_that_is_a_changed_input_is_not_allocated() -> None:
    changed = problem(case({"x": (4,), "out": (4,)}, [(4,), (4,)], mutates=("out",), lies_in=("out",)))
    assert entry("x, out", changed) == "def kernel_function(x, out):\n    solve(x, out)\n    return out"
    silent = problem(case({"x": (4,), "out": (4,)}, [(4,)], mutates=("out",)))
    assert entry("x, y", silent) == "def kernel_function(x, out):\n    solve(x, out)"


def test_torch_is_imported_where_the_file_does_not_or_has_its_own_name() -> None:
    assert entry("x, weight, out", ROWS, "").startswith("import torch\n\n\ndef kernel_function")
    assert "out = t.empty(" in entry("x, weight, out", ROWS, "import torch as t\n\n\n")


@pytest.mark.parametrize(("signature", "made", "words"), [
    ("x, weight", ROWS, "line 4: solve has no argument for output 0 of forward: write kernel_function"),
    ("x, weight, out, more", ROWS, "line 4: solve has an argument more beside the inputs and outputs of the problem"),
    ("x, weight, out, n: int", ROWS, r"line 4: solve takes a number n, .*: rename it to a size .* \(rows, width\)"),
    ("x, out", problem(case({"x": (4, 6)}, [(11, 2)]), case({"x": (5, 6)}, [(13, 2)])),
     r"no expression of the inputs' sizes is dimension 0 of output 0 \(11, 13\)"),
    ("x, out", problem(case({"x": (4,)}, [(4,)]), gradients=True), "because the problem states GRADIENTS"),
    ("x, out", problem(case({"x.0": (4,)}, [(4,)], arguments="{'x': (0,)}")), "nested inputs or outputs"),
])  # fmt: skip
def test_what_cannot_be_called_is_refused_with_its_cure(signature: str, made: ProblemInfo, words: str) -> None:
    with pytest.raises(NotCalled, match=words):
        entry(signature, made)
