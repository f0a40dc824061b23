"""Decorators that functions of the module return: which the normal form replaces, and which it leaves."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

HEAD = """
import torch
import triton
import triton.language as tl
from triton import Config

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
