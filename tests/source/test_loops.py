"""Stages are idle where no loop of a kernel loads and multiplies."""

from __future__ import annotations

import pytest

from kernelwright.source import find_tunables

SOURCE = """
import triton
import triton.language as tl
from triton.language import load as read

@triton.jit
def get(x, i):
    return tl.load(x + i)

@triton.jit
def times(x, y):
    return tl.dot(x, y)

@triton.jit
def get_all(x, n):
    total = 0.0
    for i in range(n):
        total += times(get(x, i), get(x, i))
    return total

@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    {body}

@triton.jit
def other(x, n, BLOCK: tl.constexpr):
    for i in range(n):
        tl.store(x + i, tl.dot(tl.load(x + i), tl.load(x + i)))

STAGES = 2

def kernel_function(x):
    k[(1,)](x, 1, BLOCK=64, num_stages={stages})
    {more}
    return x
"""


def idle(body: str, stages: str = "3", more: str = "pass") -> dict[str, bool]:
    source = SOURCE.format(body=body, stages=stages, more=more)
    return {tunable.key: tunable.idle for tunable in find_tunables(source)}


@pytest.mark.parametrize("body", [
    "tl.store(x, tl.load(x))",
    "for i in range(n):\n        tl.store(x + i, i)",
    "for i in range(n):\n        tl.store(x + i, tl.load(x + i))",
    "y = tl.load(x)\n    for i in range(n):\n        y = tl.dot(y, y)\n    tl.store(x, y)",
    "y = 0.0\n    for i in range(n):\n        y += tl.load(x + i)\n    tl.store(x, tl.dot(y, y))",
    "for i in tl.static_range(4):\n        tl.store(x + i, times(tl.load(x + i), tl.load(x)))",
    "for i in tl.range(0, n, BLOCK, num_stages=2):\n        tl.store(x + i, read(x + i))",
    "while n > 0:\n        n -= tl.dot(tl.load(x), tl.load(x))",
    "tl.store(x, times(get(x, n), get(x, n)))",
])  # fmt: skip
def test_stages_are_idle_where_no_loop_loads_and_multiplies(body: str) -> None:
    assert idle(body) == {"k.BLOCK": False, "k.num_stages": True, "k.num_warps": False}


@pytest.mark.parametrize("body", [
    "for i in range(n):\n        tl.store(x + i, tl.dot(tl.load(x + i), tl.load(x)))",
    "for i in tl.range(0, n, BLOCK):\n        tl.store(x + i, tl.dot_scaled(read(x + i), x, 'e4m3', x, x, 'e4m3'))",
    "for i in range(n):\n        tl.store(x + i, times(get(x, i), get(x, i)))",
    "tl.store(x, get_all(x, n))",
    "for i in range(n):\n        tl.dot(tl.make_tensor_descriptor(x, [n], [1], [64]).load([i]), x)",
    "for i in range(n):\n        for j in tl.static_range(2):\n            tl.store(x + i, tl.dot(tl.load(x + j), x))",
])  # fmt: skip
def test_they_are_not_where_one_does_by_whatever_name(body: str) -> None:
    assert not idle(body)["k.num_stages"]


def test_a_number_for_two_kernels_is_idle_where_it_is_for_both() -> None:
    second = "{}[(1,)](x, 1, BLOCK=64, num_stages=STAGES)"
    assert idle("tl.store(x, 0)", "STAGES", second.format("k"))["STAGES"]
    assert not idle("tl.store(x, 0)", "STAGES", second.format("other"))["STAGES"]
