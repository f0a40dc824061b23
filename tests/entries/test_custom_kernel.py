"""`custom_kernel(data)` becomes the entry of a candidate."""

from __future__ import annotations

import pytest

from entered import case, problem
from kernelwright.entries import with_entry
from kernelwright.entries.called import NotCalled

FILE = "def custom_kernel(data):\n    x, out = data\n    return out\n"


def test_a_problem_with_one_nested_argument_passes_it() -> None:
    nested = case({"data.0": (4,), "data.1": (4,)}, [(4,)], arguments="{'data': (0, 1)}")
    added = "\n\ndef kernel_function(data):\n    return custom_kernel(data)\n"
    assert with_entry(FILE, problem(nested)) == FILE + added


def test_a_problem_with_several_arguments_passes_a_tuple_of_them() -> None:
    several = problem(case({"x": (4,), "out": (4,)}, [(4,)]))
    assert with_entry(FILE, several).endswith("def kernel_function(x, out):\n    return custom_kernel((x, out))\n")


DEEP = pytest.param("x = " + "-" * 20000 + "1", id="deep")


@pytest.mark.parametrize("text", ["x = 1\n", "def f(:\n", DEEP, f"{FILE}\n\nclass ModelNew:\n    pass\n"])
def test_another_file_stays_as_it_is(text: str) -> None:
    assert with_entry(text, problem(case({"x": (4,)}, [(4,)]))) == text


def test_a_function_of_several_arguments_is_refused_with_its_line() -> None:
    with pytest.raises(NotCalled, match="line 1: custom_kernel has 2 arguments; it takes one, data"):
        with_entry("def custom_kernel(x, out):\n    return out\n", problem(case({"x": (4,)}, [(4,)])))
