"""What host code may keep for the next call: each rule alone, and what is a call's own."""

from __future__ import annotations

import ast
import textwrap

import pytest

from kernelwright.worker.rules.state import kept


def found(text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in kept(ast.parse(textwrap.dedent(text)), set())]


def function(*lines: str) -> str:
    """Line 1 is the head."""
    return "def forward(self, x):\n" + "".join(f"    {line}\n" for line in lines)


def constructor(line: str) -> str:
    return f"class C(nn.Module):\n    def __init__(self):\n        {line}\n"


PASSED_ON = """
class F(torch.autograd.Function):
    def forward(ctx, x):
        ctx.size = 3

class G(torch.autograd.Function):
    def forward(ctx, x):
        {}
"""

TABLE = "T = {(8, 2): dict(m=16, n=[1]), (4, 2): dict(m=32)}\ndef f(x):\n    one = T.get(x.shape)\n"

REFUSED = {
    "an element that is written": (TABLE + "    one['m'] = x\n", 1, "module-level"),
    "an element that is passed on": (TABLE + "    g(one)\n", 1, "module-level"),
    "an element that another function passes on": (TABLE + "def h(x):\n    return one\n", 1, "module-level"),
    "a container that an import and a call read": ("A = [1]\nB = f(A)\ndef f(x):\n    g(A)\n", 1, "module-level"),
    "a container that a function in a call reads": ("A = [1]\nB = A\ndef f(x):\n    g(lambda: A)\n", 1, "module-level"),
    "an iterator that an import reads": ("A = iter(())\nB = f(A)\n", 1, "an iterator keeps its place"),
    "global": (function("global y", "y = x"), 2, "through global or nonlocal"),
    "nonlocal": ("def f(y):\n    def g():\n        nonlocal y\n        y += 1\n", 3, "through global or nonlocal"),
    "a generator": (function("yield x"), 2, "in a generator"),
    "a generator of another": (function("yield from x"), 2, "in a generator"),
    "a cache that is imported": ("from functools import lru_cache\n", 1, "imports lru_cache"),
    "a cache above a function": ("@functools.lru_cache\ndef f():\n    return 1\n", 1, "uses lru_cache"),
    "an item through a local name": (function("seen = self.seen", "seen[1] = x"), 3, "writes into seen"),
    "a change through a local name": (function("seen = SEEN", "seen.append(x)"), 3, "changes seen"),
    "a default": ("def f(x, seen=[]):\n    return x\n", 1, "a container as a default"),
    "a default by keyword": ("def f(x, *, seen={}):\n    return x\n", 1, "a container as a default"),
    "a default of a lambda": ("f = lambda x, seen={}: x\n", 1, "a container as a default"),
    "an iterator as a default": ("def f(x, n=iter((1,))):\n    return x\n", 1, "an iterator keeps its place"),
    "an attribute": (function("self.out = x"), 2, "writes self.out"),
    "an attribute that is removed": (function("del self.out"), 2, "writes self.out"),
    "an item": (function("SIZES[0] = x"), 2, "writes into SIZES"),
    "a change": (function("self.seen.append(x)"), 2, "changes self.seen"),
    "a change in a function inside": (
        function("seen = []", "def add(y):", "    seen.append(y)", "return add"),
        4,
        "changes seen",
    ),
    "a change above a function inside": (
        function("@SEEN.setdefault(x, print)", "def add(y):", "    return y"),
        2,
        "changes SEEN",
    ),
    "an iterator that goes on": (function("n = next(self.sizes)"), 2, "an iterator keeps its place"),
    "an attribute of a module": ("torch.relu = None\n", 1, "nothing may be patched"),
    "a container of a module": ("SEEN = {}\n", 1, "a module-level container"),
    "an iterator of a module": ("SIZES = iter((1, 2))\n", 1, "an iterator keeps its place"),
    "a tensor of a module": ("OUT = torch.empty(4)\n", 1, "a tensor made outside of a call"),
    "a container of a class": ("class C:\n    seen = {}\n", 2, "a container in a class"),
    "an empty container of an object": (constructor("self.seen = {}"), 3, "an empty container"),
    "an iterator of an object": (constructor("self.sizes = zip((1,), (2,))"), 3, "an iterator keeps its place"),
}


@pytest.mark.parametrize("written", [
    "return F.forward(x, x)", "return F.forward(x, ctx)", "ctx = x\n        return F.forward(ctx, x)",
    "return (lambda ctx: F.forward(ctx, x))(x)", "return [F.forward(ctx, x) for ctx in x]", "return F.other(ctx)",
    "import torch as ctx\n        return F.forward(ctx, x)", "made = F.forward\n        return made(x, x)",
])  # fmt: skip
def test_an_autograd_function_gets_no_other_context_than_its_caller_s(written: str) -> None:
    assert [said for _, said in found(PASSED_ON.format(written))] == [
        "uses F for something else than F.apply: call that"
    ]


@pytest.mark.parametrize("case", REFUSED)
def test_each_way_to_keep_something_is_found_once_with_its_line(case: str) -> None:
    text, line, rule = REFUSED[case]
    ((at, said),) = found(text)
    assert (at, rule in said) == (line, True), said


@pytest.mark.parametrize(
    "text",
    [
        function("seen = list(x.shape)", "seen[0] = 1", "seen.append(2)"),
        function("seen = x", "other = seen", "other[0] = 1"),
        function("sizes = iter(x.shape)", "n = next(sizes)"),
        function("def named(y):", "    parts = []", "    parts.append(y)", "    return parts", "return named(x)"),
        constructor("self.size = 3"),
        "class F(torch.autograd.Function):\n    def forward(ctx, x):\n        ctx.size = 3\n",
        PASSED_ON.format("return F.forward(ctx, x)"),
        "def f(x, size=(1, 2)):\n    return x\n",
        "A = [f(1)]\nB = [f(2)]\nBOTH = A + B\n@triton.autotune(configs=BOTH)\ndef g(x, one=A):\n    return x\n",
        "__all__ = ['f']\n",
        TABLE + "    two = T[8, 2]\n    k[x](one['m'], **two)\n",
        "REST = dict(m=8)\n"
        + TABLE.replace("shape)", "shape, REST)")
        + "    one = one.get('n', one)\n    return one['m']\n",
    ],
)
def test_what_is_a_call_s_own_is_not_found(text: str) -> None:
    assert found(text) == []


PARTS = """
class Base:
    def __init__(self):
        self.parts = []

class Parts(Base):
    def add(self, x):
        self.parts.append(x)
        self.last = x
        self.parts[0] = x

def made():
    return Parts()

def kernel_function(x):
    made().add(x)
"""


def test_an_object_that_only_calls_construct_may_be_written() -> None:
    assert found(PARTS) == []


@pytest.mark.parametrize(("old", "new"), [
    ("def kernel_function", "KEPT = made()\ndef kernel_function"), ("(x):\n    made", "(x, kept=made()):\n    made"),
    ("def kernel_function", "@made\ndef kernel_function"), ("class Base:", "class Base(nn.Module):"),
    ("def made", "class ModelNew(nn.Module):\n    def __init__(self):\n        self.kept = Parts()\ndef made"),
    ("def made", "class ModelNew(Parts):\n    pass\ndef made"),
    ("def made", "class Other:\n    one = Parts()\ndef made"),
    ("    def add(self", "    @classmethod\n    def add(self"),
    ("class Parts(Base)", "class Parts(Base, metaclass=one)"),
    ("self.last = x", "self.other.last = x"), ("self.parts[0]", "self.parts.x[0]"),
    ("self.parts.app", "self.x.parts.app"),
    ("self.last = x", "x.last = x"), ("class Base:", "@one\nclass Base:"), ("made().add(x)", "Parts.add(x, x)"),
    ("made().add(x)", "type(made()).add(x, x)"), ("made().add(x)", "(add := Parts)\n    add.add(x, x)"),
    ("def made", "for one in [made]:\n    one()\ndef made"),
])  # fmt: skip
def test_an_object_that_may_outlive_a_call_is_not_written(old: str, new: str) -> None:
    assert old in PARTS
    assert found(PARTS.replace(old, new)) != []


def test_a_name_that_nothing_binds_may_be_global() -> None:
    assert found("N = 3\n" + function("global N", "return x * N")) == []
    assert found("N = 3\n" + function("global N", "return x * N") + function("global N", "for N in x: pass")) != []
