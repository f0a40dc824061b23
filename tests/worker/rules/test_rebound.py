"""Names that a module binds again: which definitions and decorators the normal form replaces, and which it leaves."""

from __future__ import annotations

import pytest

from kernelwright.source import parse as syntax
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.rules.rebound import replaced
from rule_findings import findings

HEAD = """
import torch
import triton
import triton.language as tl
from triton import Config

"""
FIRST = """\
@triton.jit
def copy(x_ptr, out_ptr, n):
    tl.store(out_ptr, 0.0)

"""
KERNEL = """\
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)

"""
ENTRY = """\
def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


@pytest.mark.parametrize("between", ["", "ROWS = 4\n", "def other(n=ROWS):\n    return copy\n", "import math\n"])
def test_of_two_kernels_of_one_name_the_last_is_judged(between: str) -> None:
    source = HEAD + "ROWS = 3\n" + FIRST + between + KERNEL + ENTRY
    made = normal_form(source)
    assert any("bound more than once" in one for one in findings(source))
    assert findings(made) == []
    assert "0.0" not in triton.check(made).source
    assert made.count("\n") == source.count("\n")


@pytest.mark.parametrize("between", [
    "OTHER = copy\n", "def other(n=copy):\n    return n\n", "def used():\n    return copy\nOTHER = used()\n",
    "class Other:\n    kernel = copy\n", "if tl:\n    OTHER = copy\n", "for OTHER in (copy,):\n    pass\n",
    "OTHER = (lambda: copy)()\n", "copy = print\n", "with copy:\n    pass\n", "def other() -> copy:\n    pass\n",
    "@triton.heuristics({'n': lambda a: copy})\n",
])  # fmt: skip
def test_a_kernel_that_an_import_could_use_stays(between: str) -> None:
    assert replaced(syntax.parse(HEAD + FIRST + KERNEL)) != []
    assert replaced(syntax.parse(HEAD + FIRST + between + KERNEL)) == []


@pytest.mark.parametrize("above", ["@print\n", "@torch.compile\n", "@triton.jit.one\n"])
def test_a_function_under_a_decorator_of_another_kind_stays(above: str) -> None:
    made = normal_form(HEAD + above + FIRST + KERNEL + ENTRY)
    assert any("bound more than once" in one for one in findings(made))


BEHIND = """\
def heuristics_of(config):
    return triton.heuristics({k: (lambda args, _v=v: _v) for k, v in config.all_kwargs().items()})


def best():
    \"\"\"The config.\"\"\"
    return Config(dict(BLOCK=256), num_warps=4)


def tuned():
    if 1 > 2:
        raise NotImplementedError("not judged")
    else:
        return heuristics_of(best())


copy = tuned()(copy)

"""
CALLED = ENTRY.replace(", BLOCK=256", "")


def test_a_decorator_that_functions_of_the_module_return_stands_above_the_kernel() -> None:
    made = normal_form(HEAD + KERNEL + BEHIND + CALLED)
    assert findings(made) == []
    assert "@triton.heuristics({k: lambda args, _v=v: _v for k, v in Config(dict(BLOCK=256), num_warps=4)" in made
    above = normal_form(HEAD + BEHIND.replace("copy = tuned()(copy)\n", "@tuned()") + KERNEL + CALLED)
    assert findings(above) == []


@pytest.mark.parametrize(("old", "new"), [
    ("copy = tuned()", "copy = (lambda kernel: kernel)"), ("heuristics_of(best())", "print"),
    ("heuristics_of(best())", "heuristics_of(k)"), ("def tuned():", "@print\ndef tuned():"),
    ("def tuned():", "def tuned(*given):"), ("    if 1 > 2:", "    print(1)\n    if 1 > 2:"),
    ("copy = tuned()(copy)", "copy = tuned(1)(copy)"), ("copy = tuned()(copy)", "other = copy\ncopy = print(other)"),
])  # fmt: skip
def test_what_is_not_one_expression_of_triton_s_is_refused(old: str, new: str) -> None:
    assert findings(normal_form(HEAD + "k = Config({})\n" + KERNEL + BEHIND.replace(old, new) + CALLED)) != []
