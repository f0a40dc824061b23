"""Imports of other packages: stand-ins for the first recording, and annotations that name them."""

from __future__ import annotations

import pytest

from doubled import source_of
from kernelwright.source import parse as syntax
from kernelwright.source.branches import branches
from kernelwright.source.edits import edited
from kernelwright.worker.rules import triton
from kernelwright.worker.rules.foreign import used, with_stand_ins
from kernelwright.worker.rules.normal import normal_form

ONE = "one = __absent__('one', 'line 1 imports from {}')"


@pytest.mark.parametrize(("written", "recorded"), [
    ("import vllm", "vllm = __absent__('vllm', 'line 1 imports vllm')"),
    ("import torch, vllm", "import torch; vllm = __absent__('vllm', 'line 1 imports torch, vllm')"),
    ("from vllm import one", ONE.format("vllm")), ("from ..utils import one", ONE.format("..utils")),
    ("import os", None), ("from torch.fx import wrap", None), ("import packaging.version", None),
    ("import numpy as np", None), ("from numpy import ndarray as one", ONE.format("numpy")),
    ("from triton.no_such_module import one", ONE.format("triton.no_such_module")),
    ("try:\n    import vllm\nexcept ImportError:\n    vllm = None",
     "try:\n    __absent__()\nexcept ImportError:\n    vllm = None"),
    ("def f():\n    import vllm", "def f():\n    vllm = __absent__('vllm', 'line 2 imports vllm')"),
])  # fmt: skip
def test_what_is_recorded_in_place_of_an_absent_package(written: str, recorded: str | None) -> None:
    assert with_stand_ins(written) == (written if recorded is None else recorded)


def test_branches_keep_their_numbers_beside_stand_ins() -> None:
    tried = "try:\n    import vllm\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
    source = source_of(tried + "import vllm", "if x.dim() > 3:\n    return x * vllm.one")
    recorded = with_stand_ins(source)
    assert recorded.count("\n") == source.count("\n")
    before, after = (branches(syntax.parse(text)) for text in (source, recorded))
    assert [str(one) for one in before] == [str(one) for one in after]


@pytest.mark.parametrize(("annotation", "left"), [
    ("vllm.Config", "object"), ("'vllm.Config'", "object"), ("list[vllm.Config] | None", "object"),
    ("np.ndarray", "object"), ("torch.Tensor", "torch.Tensor"), ("Optional[int]", "Optional[int]"),
    ("'torch.Tensor'", "'torch.Tensor'"), ("tuple[int, ...]", "tuple[int, ...]"),
    ("Optional[dist.ProcessGroup]", "object"), ("torch.optim.Adam", "object"), ("torch.dtype", "torch.dtype"),
])  # fmt: skip
def test_an_annotation_of_another_package_says_nothing(annotation: str, left: str) -> None:
    top = "from typing import Optional\nimport torch.distributed as dist\nimport vllm\nimport numpy as np\n"
    top += f"def one(x: {annotation}, *, y: {annotation} = 1) -> {annotation}:\n    z: {annotation} = x\n    return z"
    made = normal_form(source_of(top, "one(x)")).replace("(object)", "object")
    assert f"def one(x: {left}, *, y: {left} = 1) -> {left}:\n    z: {left} = x" in made
    assert [str(finding) for finding in triton.check(made).findings] == []


@pytest.mark.parametrize(("above", "left"), [
    ("@own.traced\n@triton.jit", "@triton.jit"), ("@own.traced(client=own.Client())\n@triton.jit", "@triton.jit"),
    ("@near\n@triton.jit", "@triton.jit"),
    ("@own.tuned(configs=[triton.Config({'BLOCK': 64})], key=['n'], name='copy')\n@triton.jit",
     "@triton.autotune(configs=[triton.Config({'BLOCK': 64})], key=['n'])\n@triton.jit"),
])  # fmt: skip
def test_a_decorator_of_another_package_above_a_kernel_is_left_out(above: str, left: str) -> None:
    head = "import torch\nimport triton\nimport triton.language as tl\nimport own\nfrom .near import near\n"
    kernel = "def copy(x, y, n, BLOCK: tl.constexpr):\n    pass\n"
    host = "def kernel_function(x):\n    y = torch.empty_like(x)\n    copy[(1,)](x, y, 9)\n    return y\n"
    made = normal_form(f"{head}{above}\n{kernel}{host}")
    assert left + "\ndef copy" in made
    assert triton.check(made).findings == ()


def test_a_decorator_of_another_package_above_a_function_stays() -> None:
    text = source_of("import own\n@own.traced\ndef one(x):\n    return x", "one(x)")
    assert "@own.traced" in normal_form(text)


def test_an_annotation_of_a_field_or_a_kernel_stays() -> None:
    top = "import vllm\nclass One:\n    x: vllm.Config = 1"
    made = normal_form(source_of(top, "One()").replace("n, BLOCK", "n: vllm.Config, BLOCK"))
    assert made.count("vllm.Config") == 2


@pytest.mark.parametrize(("written", "left"), [
    ("ONE = vllm.one()", "ONE = vllm.one()"),
    ("if isinstance(torch, vllm.Config):\n    print()", "if (False):\n    print()"),
    ("if isinstance(torch, (vllm.A, int)):\n    print()", "if isinstance(torch, (vllm.A, int)):\n    print()"),
    ("if isinstance(torch.load(), vllm.A):\n    print()", "if isinstance(torch.load(), vllm.A):\n    print()"),
])  # fmt: skip
def test_what_only_another_package_would_do_is_left_out(written: str, left: str) -> None:
    source = f"import torch, vllm\n{written}\n"
    assert edited(source, used(syntax.parse(source))) == f"import torch, vllm\n{left}\n"
