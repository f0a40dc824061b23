"""Kernels in functions and classes: which are moved to module level, and what then reads them."""

from __future__ import annotations

import ast

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.nested import without_nested
from kernelwright.worker.rules.normal import normal_form

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\nSIZE: tl.constexpr = 2\n\n"
KERNEL = """\
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK) * SIZE
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)
"""
INSIDE = "    " + KERNEL.rstrip().replace("\n", "\n    ") + "\n"
HOST = """
def kernel_function(x):
    out = torch.empty_like(x)
    {}[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""

CLASS = f"class Op:\n    @staticmethod\n{INSIDE}\n    def run(self, x):\n        self.copy[(1,)](x)\n"
MAKER = f"def make():\n{INSIDE}    return copy\n\nmade = make()\n"


@pytest.mark.parametrize(("around", "used", "read"), [
    (CLASS, "Op.copy", "(copy)[(1,)]"), (MAKER, "made", "return copy"),
    (f"class Op:\n    @staticmethod\n    def make():\n    {INSIDE.replace(chr(10), chr(10) + '    ').rstrip()}\n"
     "        return copy\n\nmade = Op.make()\n", "made", "return copy"),
])  # fmt: skip
def test_a_kernel_in_a_function_or_a_class_is_one_of_the_module(around: str, used: str, read: str) -> None:
    source = HEAD + around + HOST.format(used)
    assert triton.check(source).names == ()
    made = normal_form(source)
    assert triton.check(made).names == ("copy",)
    assert triton.check(made).findings == ()
    assert KERNEL in made
    assert read in made
    assert made.count("\n") == source.count("\n")
    assert made.splitlines()[-1] == source.splitlines()[-1]


@pytest.mark.parametrize("source", [
    MAKER.replace("make()", "make(SIZE)", 1), MAKER.replace("    @", "    SIZE = 3\n    @"), KERNEL + MAKER,
    MAKER + CLASS, MAKER + "copy = 1\n",
    f"class Op:\n{INSIDE}", MAKER.replace("constexpr)", "constexpr, other=one)").replace("make()", "make(one)", 1),
])  # fmt: skip
def test_a_kernel_stays_whose_names_mean_something_else_at_module_level(source: str) -> None:
    assert without_nested(HEAD + source) == HEAD + source


def test_a_module_without_such_kernels_stays_as_it_is() -> None:
    source = HEAD + KERNEL + HOST.format("copy")
    assert without_nested(source) == source
    assert ast.parse(without_nested(source))
