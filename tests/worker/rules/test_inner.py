"""Names of Triton's own sources, replaced by what they are."""

from __future__ import annotations

import ast

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

KERNEL = """
import torch
import triton
import triton.language as tl
{top}

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr, KIND: tl.constexpr = 1):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    {line}
    tl.store(out_ptr + lanes, x, mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""

CORES = {
    "import triton.language.core as core": "core", "from triton.language import core": "core", "": "tl.core",
    "import triton.language.core as own": "own",
}  # fmt: skip


def made_of(top: str, line: str) -> str:
    """The normal form of a kernel that broke rules, which breaks none and whose lines have kept their numbers."""
    source = KERNEL.format(top=top, line=line)
    assert findings(source) != []
    made = normal_form(source)
    assert findings(made) == []
    assert made.count("\n") == source.count("\n")
    return made


@pytest.mark.parametrize("core", CORES)
def test_names_that_only_the_sources_have_are_replaced(core: str) -> None:
    made = made_of(core, f"x = x.to({CORES[core]}.get_int_dtype(bitwidth=32, signed=True), bitcast=True)")
    assert "get_int_dtype" not in made
    assert "x += (0)" in made_of(core, f"x += {CORES[core]}.CONSTEXPR_0")
    assert "x += (KIND)" in made_of(core, f"x += {CORES[core]}._unwrap_if_constexpr(KIND)")


@pytest.mark.parametrize("call", [
    "get_int_dtype({width}, {signed})", "get_int_dtype(bitwidth={width}, signed={signed})",
    "get_int_dtype(signed={signed}, bitwidth={width})",
])  # fmt: skip
@pytest.mark.parametrize(("width", "signed", "dtype"), [
    (1, True, "int1"), (8, True, "int8"), (16, False, "uint16"), (32, "KIND", "int32"), (64, True, "int64"),
    (64, False, "uint64"), (8, "not KIND", "uint8"),
])  # fmt: skip
def test_the_dtype_of_a_width_is_the_one_that_triton_names(call: str, width: int, signed: object, dtype: str) -> None:
    made = made_of("from triton.language.core import get_int_dtype",
                   f"x = x.to({call.format(width=width, signed=signed)})")  # fmt: skip
    line = next(line for line in made.splitlines() if "x.to(" in line)
    chosen = line.strip().removeprefix("x = x.to(").removesuffix(")")
    names = {node.attr: node.attr for node in ast.walk(ast.parse(chosen)) if isinstance(node, ast.Attribute)}
    assert eval(chosen, {"tl": type("Names", (), names), "KIND": 1}) == dtype


def test_a_function_of_compile_time_that_makes_dtypes_is_the_same() -> None:
    top = "from triton.language import core\nfrom triton.runtime.jit import constexpr_function\n"
    made = made_of(top + "dtype_of = constexpr_function(core.get_int_dtype)", "x = x.to(dtype_of(16, KIND))")
    assert "dtype_of" not in made
    assert "constexpr_function" not in made


@pytest.mark.parametrize("bound", [
    "dtype_of = core.get_int_dtype\ndtype_of = triton.constexpr_function(dtype_of)",
    "try:\n    dtype_of = triton.constexpr_function(core.get_int_dtype)\nexcept:\n    dtype_of = core.get_int_dtype",
])  # fmt: skip
def test_a_name_that_is_bound_to_the_function_of_dtypes_alone_is_that_function(bound: str) -> None:
    top = f"from triton.language import core\n{bound}"
    for other, is_left in (("", False), ("\ndtype_of = print", True)):
        made = normal_form(KERNEL.format(top=top + other, line="x = x.to(dtype_of(16, True), bitcast=True)"))
        assert ("dtype_of(16" in made) is is_left


@pytest.mark.parametrize("line", [
    "x = x.to(core.get_int_dtype(32))", "x = x.to(core.get_int_dtype(*KIND))", "x = core._unwrap_if_constexpr(x, x)",
    "x = core.get_int_dtype", "x = core.builtin(x)", "x = core._to_tensor(x)", "x = core.tensor(x)",
])  # fmt: skip
def test_other_names_and_other_calls_of_them_stay_refused(line: str) -> None:
    assert findings(normal_form(KERNEL.format(top="from triton.language import core", line=line))) != []


def test_decorators_that_triton_puts_above_its_own_functions_are_left_out() -> None:
    top = """
from triton.language import core
from triton.runtime.jit import jit

@core._tensor_member_fn
@jit
@core._add_reduction_docstr("maximum", return_indices_arg="return_indices")
def twice(x, by: core.constexpr = core.CONSTEXPR_0):
    return x + x + by
"""
    made = made_of(top, "x = twice(x)")
    assert "from triton import jit" in made
    assert "core._" not in made
    assert triton.check(made).names == ("twice", "copy")


@pytest.mark.parametrize("above", ["triton.constexpr_function", "tl.constexpr", "constexpr_function"])
def test_a_compile_time_function_of_tritons_is_imported(above: str) -> None:
    top = f"""
from triton.runtime.jit import constexpr_function

@{above}
def _log2(i):
    log2 = 0
    while i > 1:
        i >>= 1
        log2 += 1
    return log2
"""
    made = made_of(top, "x += _log2(BLOCK)")
    assert "from triton.language.standard import _log2" in made
    assert "while" not in made


def test_a_kernel_or_host_function_of_that_name_stays() -> None:
    kernel = KERNEL.format(top="@triton.jit\ndef _log2(i):\n    return i", line="x += _log2(BLOCK)")
    assert normal_form(kernel) == kernel
