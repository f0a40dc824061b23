"""What host code may not contain, each with its line; and honest styles, which raise no alarm."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernelwright.worker.rules import static

HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    pass

"""
FIRST = HEAD.count("\n") + 1
"""Line of the first line after HEAD."""


def rules(text: str, head: str = HEAD) -> list[str]:
    return [str(finding) for finding in static.check(head + textwrap.dedent(text))]


def in_function(*lines: str) -> str:
    return "def kernel_function(x):\n" + "".join(f"    {line}\n" for line in lines) + "    return x\n"


def in_module(*forward: str, init: tuple[str, ...] = (), body: tuple[str, ...] = ()) -> str:
    return (
        "class ModelNew(nn.Module):\n"
        + "".join(f"    {line}\n" for line in body)
        + "    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n"
        + "".join(f"        {line}\n" for line in forward)
        + "        return x\n"
    )


# --- honest styles ------------------------------------------------------------------------------------------


HONEST = {
    "parameters and buffers": in_module(
        "y = torch.empty_like(x)",
        "k[(1,)](x, y, x.numel(), BLOCK=64)",
        "x = y",
        init=("self.weight = nn.Parameter(torch.ones(4))", "self.register_buffer('mean', torch.zeros(4))"),
    ),
    "layers as containers": in_module(
        "w, b = self.fc.weight, self.conv.bias",
        init=("self.fc = nn.Linear(4, 4)", "self.conv = nn.Conv2d(3, 8, 3, bias=True)", "self.eps: float = 1e-5"),
    ),
    "names of builtins for what it binds": (
        "def one(size, eval=1, *, vars):\n    return (lambda input: input(eval))(vars), [dir(1) for dir in (size, 1)]\n"
        + in_function("for id in (1, 2):", "    def hash(n): return n + id", "    x = hash(x)", "open = x", "x = open")
    ),
    "alignments": in_function("if x.data_ptr() % 512 == 0 and x.data_ptr() & 15 == 0: x = x.view(-1)",
                              "y = torch.empty_like(x)", "if x.data_ptr() != y.data_ptr(): x = y"),
    "patterns": in_function("match x.shape:", "    case (int(n), int()): x = x.view(n, -1)"),
    "names of Triton's language": (
        "load = tl.load\nfrom triton.language.extra import libdevice\n"
        + in_function("kind = {torch.float16: tl.float16}[x.dtype]", "x = isinstance(kind, tl.dtype) and x")
    ),
    "a sequence of layers": in_module(init=("self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])",)),
    "initialised parameters": in_module(
        init=("self.w = nn.Parameter(torch.empty(4, 4))", "nn.init.kaiming_uniform_(self.w)")
    ),
    "parameters set inside a layer": in_module(init=("self.fc = nn.Linear(4, 4)", "self.fc.bias = None")),
    "helper functions": "def grid(n, block):\n    return (triton.cdiv(n, block),)\n" + in_function("g = grid(4, 2)"),
    "type hints": "from typing import Optional, Tuple\n"
    "def kernel_function(x: torch.Tensor, b: Optional[torch.Tensor] = None, *, n: int = 3) -> Tuple[int, ...]:\n"
    "    y: torch.Tensor = x\n    return y\n",
    "a dataclass": "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Tile:\n    m: int = 64\n"
    "    n: int = field(default=64)\nTILE = Tile(m=32)\n",
    "module-level constants": "BLOCK = 128\nSIZES = (64, 128)\nDTYPES = ((torch.float16, 2), (torch.float32, 4))\n"
    "DEVICE = torch.device('cuda')\nNAME: str = 'k'\nHALF = BLOCK // 2\n",
    "autotune with a list": "@triton.autotune(configs=[triton.Config({'BLOCK': 64}, num_warps=4)], key=['n'])\n"
    "@triton.jit\ndef t(x, n, BLOCK: tl.constexpr):\n    pass\n",
    "configs in a list": "CONFIGS = [triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})]\n",
    "configs from a comprehension": "CONFIGS = [triton.Config({'BLOCK': b}, num_warps=w) "
    "for b in (64, 128) for w in (4, 8)]\n",
    "configs from a function": "import itertools\ndef configs():\n    found = []\n"
    "    for b, w in itertools.product((64, 128), (4, 8)):\n"
    "        found.append(triton.Config({'B': b}, num_warps=w))\n"
    "    return found\n",
    "configs joined": "MORE = [triton.Config({'BLOCK': 64})] + [triton.Config({'BLOCK': b}) for b in (1, 2)]\n",
    "heuristics": "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})\n"
    "@triton.jit\ndef h(x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):\n    pass\n",
    "containers that live for one call": in_function(
        "shape = list(x.shape)", "shape[0] = 1", "shape.append(2)", "kw = {'a': 1}", "kw['b'] = 2", "kw.update(c=3)"
    ),
    "writes into a tensor made in the call": in_function("y = torch.empty_like(x)", "y[:, 0] = 0", "y[0].fill_(1)"),
    "arguments named like builtins": "def kernel_function(input, id, vars=None):\n    out = input\n    return out\n",
    "grids as lambdas": in_function(
        "grid = lambda meta: (triton.cdiv(4, meta['BLOCK']),)", "k[grid](x, x, 4, BLOCK=2)"
    ),
    "the current device": in_function("with torch.cuda.device(x.device):", "    k[(1,)](x, x, 1, BLOCK=1)"),
    "device properties": in_function("n = torch.cuda.get_device_properties(x.device).multi_processor_count"),
    "no_grad": "@torch.no_grad()\n" + in_function("pass"),
    "inference mode": in_function("with torch.inference_mode():", "    pass"),
    "a main block": in_function("pass")
    + "if __name__ == '__main__':\n    print(kernel_function(torch.randn(4)).shape)\n",
    "a main block that tries it out": in_function("pass")
    + "if __name__ == '__main__':\n    import os\n    torch.manual_seed(0)\n    y = kernel_function(torch.randn(4))\n"
    + "    print(y.cpu().abs().max().item(), triton.testing.do_bench(lambda: y))\n",
    "names in order": "from collections import OrderedDict, namedtuple\nfrom enum import IntEnum\n"
    "from contextlib import nullcontext\nTile = namedtuple('Tile', 'm n')\nclass Kind(IntEnum):\n    RELU = 1\n"
    + in_module(init=("self.layers = nn.Sequential(OrderedDict([('fc', nn.Linear(4, 4))]))",)),
    "an autograd function by its name": "from torch.autograd import Function\n"
    "from torch.autograd.function import once_differentiable\n" + in_function("pass"),
    "what is exported": "__all__ = ['kernel_function']\n" + in_function("pass"),
    "a literal getattr": in_module("b = getattr(self, 'bias', None)", "h = hasattr(self, 'bias')"),
    "a property": in_module() + "    @property\n    def block(self):\n        return 64\n",
    "super with arguments": "class ModelNew(nn.Module):\n    def __init__(self):\n"
    "        super(ModelNew, self).__init__()\n",
    "extra_repr": in_module() + "    def extra_repr(self) -> str:\n        return f'n={4}'\n",
    "math": "import math\n" + in_function("s = 1.0 / math.sqrt(x.shape[-1])"),
    "functional pads": "import torch.nn.functional as F\n" + in_function("x = F.pad(x, (0, 3))"),
    "versions": "NEW = torch.__version__ >= '2'\n",
    "an allocator for descriptors": "def alloc(size: int, align: int, stream):\n"
    "    return torch.empty(size, device='cuda', dtype=torch.int8)\n"
    + in_function("triton.set_allocator(alloc)"),
    "host descriptors": "from triton.tools.tensor_descriptor import TensorDescriptor\n"
    + in_function("d = TensorDescriptor.from_tensor(x, [16, 16])"),
    "the active driver": in_function("p = triton.runtime.driver.active.utils.get_device_properties(0)"),
    "asserts": in_function("assert x.is_contiguous(), 'contiguous input expected'"),
    "raising": in_function("if x.dim() != 2:", "    raise ValueError('a matrix was expected')"),
    "iterators within a call": in_function("sizes = zip(x.shape, x.stride())", "first = next(sizes)",
                                           "for i, size in enumerate(x.shape):", "    pass"),
    "an iterator within a constructor": in_module(init=("for size in reversed((1, 2)):", "    self.size = size")),
    "settings of the framework that kernels need": in_function(
        "with torch.set_grad_enabled(False):", "    torch.cuda.set_device(x.device)", "triton.set_allocator(None)"),
    "the type of a value": in_function("assert type(x) is torch.Tensor"),
    "decorators of the library": "import functools\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True)\n"
    "class Sizes:\n    rows: int = 1\n\n\ndef logged(call):\n    @functools.wraps(call)\n    def inner(x):\n"
    "        return call(x)\n    return inner\n",
    "an autograd function": "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.n = x.numel()\n        return x\n",
}  # fmt: skip


@pytest.mark.parametrize("style", HONEST)
def test_an_honest_style_raises_no_alarm(style: str) -> None:
    assert rules(HONEST[style]) == []


@pytest.mark.parametrize(
    "starter", sorted((Path(__file__).parents[3] / "gallery").glob("*/starter.py")), ids=lambda p: p.parent.name
)
def test_the_gallerys_starters_raise_no_alarm(starter: Path) -> None:
    assert static.check(starter.read_text()) == []


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import os", "imports os"),
        ("import os as one; one.getcwd()", "imports os, which line 10 uses; allowed: torch"),
        ("import numpy as np", ""),
        ("import torch.utils.cpp_extension", "imports torch.utils.cpp_extension"),
        ("from torch import ops", "imports ops"),
        ("from torch import compile as fast", "imports compile"),
        ("from torch.nn.functional import softmax, relu as r", ""),
        ("from . import other", "imports from"),
        ("from torch.utils import benchmark", "imports from torch.utils"),
        ("import threading", "imports threading"),
        ("from contextlib import suppress", "imports suppress from contextlib; allowed: nullcontext"),
        ("from collections import _sys", "imports _sys from collections"),
        ("import collections", ""),
        ("exec('x = 1')", "exec"),
        ("run = eval", "eval"),
        ("f = __builtins__", "__builtins__"),
        ("globals()['x'] = 1", "globals"),
        ("setattr(torch, 'relu', 1)", "setattr"),
        ("open('/etc/passwd')", "open"),
        ("f = getattr(torch, 'soft' + 'max')", "getattr"),
        ("f = getattr(torch, '_C')", "_C"),
        ("x = torch._C._nn.linear(x, x)", "_C"),
        ("x = torch.ops.aten.relu(x)", "ops"),
        ("f = torch.compile(f)", "compile"),
        ("torch.os.system('true')", "os"),
        ("triton.testing.subprocess.run(['true'])", "subprocess"),
        ("torch.multiprocessing.Process()", "multiprocessing"),
        ("torch.load('x')", "load"),
        ("torch.hub.load('x')", "hub"),
        ("torch._utils.render_call(f)", "_utils"),
        ("torch.jit.script(f)", "script"),
        ("torch.cuda.Stream()", "Stream"),
        ("torch.cuda.current_stream()", "current_stream"),
        ("torch.cuda.synchronize()", "synchronize"),
        ("torch.cuda.Event(enable_timing=True)", "Event"),
        ("torch.cuda.CUDAGraph()", "CUDAGraph"),
        ("torch.set_float32_matmul_precision('high')", "set_float32_matmul_precision"),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "backends"),
        ("torch.manual_seed(0)", "manual_seed"),
        ("torch.softmax = lambda x, d: x", "torch.softmax"),
        ("torch.cuda.synchronize = None", "synchronize"),
        ("k.fn = None", "k.fn"),
        ("k.add_pre_run_hook(f)", "uses .add_pre_run_hook"),
        ("f = FLOAT.inspect", "uses .inspect"),
        ("del torch.relu", "torch.relu"),
        ("CACHE = {}", "container"),
        ("CACHE = dict()", "container"),
        ("CACHE = []", "container"),
        ("CACHE = [None] * 4", "container"),
        ("CACHE = [0 for _ in range(4)]", ""),
        ("CACHE: dict = {}", "container"),
        ("A, CACHE = 1, {}", "container"),
        ("CACHE = (1, [])", "container"),
        ("CACHE = set()", "container"),
        ("CACHE = torch.empty(4)", "tensor"),
        ("from functools import lru_cache", "lru_cache"),
        ("import functools\nf = functools.cache(f)", "cache"),
        ("import functools\nf = functools.partial(f, {})", "container"),
        ("def f(x, cache={}):\n    return x", "default"),
        ("def f(x, *, cache=dict()):\n    return x", "default"),
        ("def f(x):\n    yield x", "generator"),
        ("async def f(x):\n    return x", "async"),
        ("def f():\n    global x\n    x = 1", "global"),
    ],
)
def test_a_line_that_host_code_may_not_have_is_named_with_its_rule(line: str, rule: str) -> None:
    found = rules(line + "\n")
    if not rule:
        assert found == []
        return
    at = FIRST + (line.count("\n") if line.startswith(("import functools", "def f():")) else 0)
    if "yield" in line or "global" in line:
        at = FIRST + 1
    assert any(rule in text for text in found), found
    assert any(text.startswith(f"line {at}: ") or text.startswith(f"line {at - 1}: ") for text in found), found


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("n = x.sum().item()", ".item"),
        ("v = x.tolist()", ".tolist"),
        ("c = x.cpu()", ".cpu"),
        ("a = x.numpy()", ".numpy"),
        ("p = x.data_ptr()", ".data_ptr"),
        ("s = x.untyped_storage()", ".untyped_storage"),
        ("m = x.is_meta", ".is_meta"),
        ("c = x.__class__", "__class__"),
        ("n = id(x)", "id()"),
        ("kernel_function.calls = 1", "kernel_function.calls"),
        ("x.grad = None", "x.grad"),
    ],
)
def test_a_line_in_a_call_is_named_with_its_rule(line: str, rule: str) -> None:
    assert any(rule in text and text.startswith(f"line {FIRST + 1}: ") for text in rules(in_function(line)))


def test_exceptions_are_not_caught() -> None:
    for handler in ("except Exception:", "except* ValueError:", "finally:"):
        text = in_function("try:", "    x = k(x)", handler, "    x = torch.relu(x)")
        try:
            found = rules(text)
        except SyntaxError:
            continue  # this Python has no except*
        assert any("catches exceptions" in rule for rule in found)


ALONE = {
    "a character that nobody sees": ("NAME = 'a\u202eb'\n", "holds the character \\u202e"),
    "a hook as a method": ("class C:\n    def __getitem__(self, grid):\n        return grid\n", "defines __getitem__"),
    "a hook by assignment": ("class C:\n    __exit__ = print\n", "defines __exit__"),
    "a class from type": ("C = type('C', (), {})\n", "makes a class at run time with type()"),
    "a class from Enum": ("from enum import Enum\nC = Enum('C', 'A B')\n", "makes a class at run time with Enum()"),
    "an import": ("import pathlib\n", "imports pathlib"),
    "an import from a module": ("from pathlib import Path\n", "imports from pathlib"),
    "an import from a package": ("from .torch import nn\n", "imports from torch"),
    "an import of a part of the framework": ("from torch.nn import _reduction\n", "imports _reduction"),
    "an import of what a module has too": ("from collections import deque\n", "imports deque from collections"),
    "an import under another name": ("from functools import wraps as w\n", "imports wraps under another name"),
    "an exception that is caught": (in_function("try:", "    k(x)", "except Exception:", "    pass"), "catches"),
    "what runs whatever happens": (in_function("try:", "    k(x)", "finally:", "    pass"), "catches"),
    "a builtin by name": (in_function("run = exec"), "uses exec"),
    "a builtin that is called": (in_function("n = id(x)"), "calls id()"),
    "getattr under another name": (in_function("look = getattr"), "getattr has to be called by its name"),
    "getattr of a computed name": (in_function("y = getattr(x, 'a' + 'b')"), "with a name that is not a literal"),
    "getattr of a part of the framework": (in_function("y = getattr(torch, 'ops')"), "uses .ops"),
    "a pattern of attributes": (
        in_function("match x:", "    case torch.Tensor(is_meta=True):", "        pass"), "uses .is_meta"),
    "a decorator that is called": (
        "import functools\n" + in_function("functools.wraps(k)(x)"), "uses wraps outside of a decorator"),
    "a builtin that only another function binds": (
        "def one(eval):\n    return eval\n" + in_function("n = eval('1')"), "uses eval"),
    "a builtin in the default of the argument that binds it": (
        "def one(eval=eval('1')):\n    return eval\n", "uses eval"),
    "a builtin in what the comprehension that binds it goes through": (
        in_function("n = [eval for eval in (eval('1'),)]"), "uses eval"),
    "a builtin in a class that binds it": ("class C:\n    input = input()\n", "calls input()"),
    "a hook of the module": ("def __getattr__(name):\n    return name\n", "defines __getattr__"),
    "a pattern by position": (
        in_function("match x:", "    case torch.Tensor(one):", "        pass"), "matches attributes of torch.Tensor"),
    "a part by getattr": (in_function("y = getattr(torch, 'cuda').max_memory()"), "may not be passed on or stored"),
    "a part of Triton's language": (in_function("y = tl.core"), "uses triton.language.core"),
    "all names of a module": ("from torch import *\n", "imports *"),
    "the remainder of an address": (in_function("y = x.data_ptr() % 24"), "uses .data_ptr"),
    "a high bit of an address": (in_function("y = x.data_ptr() & 512"), "uses .data_ptr"),
    "async code": ("async def f(x):\n    return x\n", "uses async code"),
}  # fmt: skip


@pytest.mark.parametrize("case", ALONE)
def test_each_rule_finds_what_no_other_rule_does(case: str) -> None:
    text, rule = ALONE[case]
    (found,) = rules(text)
    assert rule in found


@pytest.mark.parametrize(
    "forward",
    [
        ("self.out = x",),
        ("self.calls += 1",),
        ("self.cache[x.shape] = x",),
        ("self.cache.append(x)",),
        ("self.cache.setdefault(1, x)",),
        ("c = self.cache", "c[1] = x"),
        ("a, self.out = 1, x",),
        ("for self.i in range(3):", "    pass"),
        ("with torch.no_grad() as self.mode:", "    pass"),
        ("self.register_buffer('out', x)",),
        ("object.__setattr__(self, 'out', x)",),
        ("self.__dict__['out'] = x",),
        ("SIZES[0] = x",),
        ("SIZES.update(a=x)",),
        ("del self.cache[0]",),
        ("type(self).out = x",),
        ("ModelNew.out = x",),
    ],
)
def test_a_call_leaves_nothing_behind(forward: tuple[str, ...]) -> None:
    found = rules(in_module(*forward))
    assert found, "nothing was found"
    assert all(text.startswith(f"line {FIRST + 3 + len(forward)}: ") or len(forward) > 1 for text in found), found


@pytest.mark.parametrize("line", ["self.cache = {}", "self.cache = []", "self.cache = dict()", "torch.relu = None"])
def test_a_constructor_makes_no_room_for_state(line: str) -> None:
    assert rules(in_module(init=(line,)))


@pytest.mark.parametrize("line", ["cache = {}", "cache: dict = {}", "items = [None]", "out = torch.empty(3)"])
def test_a_class_makes_no_room_for_state(line: str) -> None:
    assert rules(in_module(body=(line,)))


def test_a_closure_keeps_no_state() -> None:
    text = "def make():\n    seen = {}\n    def f(x):\n        seen[1] = x\n        return x\n    return f\n"
    assert any("seen" in rule and rule.startswith(f"line {FIRST + 3}: ") for rule in rules(text))


def test_the_bodies_of_kernels_are_not_host_code() -> None:
    assert rules("@triton.jit\ndef other(x):\n    id(x)\n    x.item\n") == []


def test_a_source_that_does_not_parse_says_so() -> None:
    with pytest.raises(SyntaxError):
        static.check("class")


def test_findings_come_in_the_order_of_lines_and_once_each() -> None:
    found = static.check(HEAD + "b = x.item\na = exec\nimport os\n")
    assert [finding.line for finding in found] == sorted(finding.line for finding in found)
    assert len(found) == len(set(found)) >= 3


@pytest.mark.parametrize(
    "block",
    [
        "if __name__ == '__main__':\n    pass\nelse:\n    torch.manual_seed(0)\n",
        "if __name__ != '__main__':\n    torch.manual_seed(0)\n",
        "__name__ = '__main__'\nif __name__ == '__main__':\n    torch.manual_seed(0)\n",
        "for __name__ in ('__main__',):\n    pass\nif __name__ == '__main__':\n    torch.manual_seed(0)\n",
        "def f():\n    if __name__ == '__main__':\n        torch.manual_seed(0)\n",
    ],
)
def test_only_what_no_import_runs_is_left_out(block: str) -> None:
    assert any("manual_seed" in rule for rule in rules(block))


def test_a_part_of_triton_that_is_imported_brings_the_rules_for_all_of_it() -> None:
    source = "import triton.language\ndef kernel_function(x):\n    return triton.compile(x)\n"
    assert any("uses .compile" in finding for finding in rules(source, head=""))


@pytest.mark.parametrize(("line", "cure"), [
    ("import os", "write the value, or leave it out"), ("from os.path import join", "write the value, or leave it out"),
    ("import fast_kernels", "copy the code that you use"), ("from .kernels import made", "copy the code that you use"),
])  # fmt: skip
def test_a_refused_import_says_what_to_do_about_it(line: str, cure: str) -> None:
    assert [cure in finding.rule for finding in static.check(line)] == [True]
