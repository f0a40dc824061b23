"""The normal form: what it leaves out and computes, what it leaves alone, and that lines keep their numbers."""

from __future__ import annotations

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.normal import normal_form
from rule_findings import findings

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)

def kernel_function(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


HARMLESS = {
    "logging": "import logging\nlogger = logging.getLogger(__name__)\n",
    "a test": "import time\ndef test_it():\n    torch.cuda.synchronize()\n    return time.time()\n",
    "a reference": "def reference(x):\n    return x.cpu().tolist()\n",
    "numpy that nothing uses": "import numpy as np\n",
    "a word to torch.compile": "@torch.compiler.disable\ndef helper():\n    return 1\nONE = helper\n",
    "a table": "SIZES = {'a': 1, 'b': 2}\n",
    "a warning": "import warnings\nwarnings.filterwarnings('ignore')\n",
    "a main program": "if __name__ == '__main__':\n    print(kernel_function(torch.ones(3).cuda()).tolist())\n",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_does_nothing_for_the_kernels_breaks_no_rule(what: str) -> None:
    source = HARMLESS[what] + KERNEL
    made = normal_form(source)
    assert findings(made) == []
    assert made.count("\n") == source.count("\n")
    assert "def kernel_function(x):" in made


@pytest.mark.parametrize(("old", "new"), [
    ("    out = torch", "    import logging\n    out = torch"),
    ("    out = torch", "    x = x.cpu()\n    out = torch"),
    ("    return out", "    return helper(out)\n\ndef helper(x):\n    return x.tolist()"),
    ("import torch\n", "import torch, os\nos.environ['A'] = 'b'\n"),
    ("    out = torch", "    os.environ.get('A')\n    out = torch"),
    ("BLOCK=256", "BLOCK=torch.ops.x"),
    ("def kernel_function", "@torch.compile\ndef kernel_function"),
    ("def kernel_function", "@torch.compiler.disable(torch.compile)\ndef kernel_function"),
    ("    out = torch", "    x = torch.compiler.disable(x)\n    out = torch"),
])  # fmt: skip
def test_what_a_call_reaches_is_still_judged(old: str, new: str) -> None:
    assert findings(normal_form(KERNEL.replace(old, new))) != [] or "os." in new
    made = normal_form("import os\n" + KERNEL.replace(old, new))
    assert findings(made) != []


def test_a_wait_for_the_device_is_left_out_of_host_code() -> None:
    wait = "torch.cuda.synchronize()"
    assert "synchronize" not in normal_form(KERNEL.replace("    return out", f"    {wait}\n    return out"))
    assert wait in normal_form(KERNEL.replace("    lanes =", f"    {wait}\n    lanes ="))
    assert "synchronize" in normal_form(KERNEL.replace("    out =", "    torch.cuda.synchronize = print\n    out ="))


@pytest.mark.parametrize("use", [
    "SIZES.update(c=3)", "SIZES['c'] = 3", "table = SIZES", "note(SIZES)", "del SIZES['a']",
    "return SIZES", "x.sizes(SIZES)", "SIZES.setdefault('c', 4)", "(y := SIZES)",
])  # fmt: skip
def test_a_table_that_is_changed_or_handed_on_is_refused(use: str) -> None:
    source = "SIZES = {'a': 1}\n" + KERNEL.replace("    out = torch", f"    {use}\n    out = torch")
    assert any("container" in text or "outlives" in text for text in findings(normal_form(source)))


@pytest.mark.parametrize("use", [
    "SIZES['a']", "SIZES.get('a')", "'a' in SIZES", "len(SIZES)", "[one for one in SIZES]", "dict(**SIZES)",
    "tuple(itertools.product(SIZES, SIZES))",
])  # fmt: skip
def test_a_table_may_be_read(use: str) -> None:
    source = "SIZES = {'a': 1}\n" + KERNEL.replace("    out = torch", f"    {use}\n    out = torch")
    assert findings(source) == []


def test_a_table_may_be_made_from_one_of_the_same_name() -> None:
    use = KERNEL.replace("BLOCK=256", "BLOCK=SIZES[0]")
    assert findings("SIZES = [7, 8]\nSIZES = [2**one for one in SIZES]\n" + use) == []
    assert findings("SIZES = [7, 8]\nSIZES = []\n" + use) != []
    assert findings("SIZES = [7, 8]\nSIZES = [[one] for one in SIZES]\n" + use) != []


def test_what_a_table_holds_may_not_be_filled() -> None:
    table = "SIZES = {'a': []}\n"
    for use, fine in (
        ("max(SIZES['a'])", True), ("[SIZES['a']]", False), ("SIZES['a'][0]", True), ("SIZES['a'].append(1)", False),
    ):  # fmt: skip
        source = table + KERNEL.replace("    out = torch", f"    y = {use}\n    out = torch")
        assert (findings(source) == []) is fine, use


def test_decorators_that_are_called_behind_a_function_stand_above_it() -> None:
    kernel = KERNEL.replace("@triton.jit\n", "").replace(
        "def kernel_function",
        "copy = triton.jit(copy)\ncopy = triton.heuristics({'BLOCK': lambda a: 256})(copy)\n\ndef kernel_function",
    )
    made = normal_form(kernel)
    assert "@triton.heuristics({'BLOCK': lambda a: 256})\n@triton.jit\ndef copy(" in made
    assert triton.check(made).names == ("copy",)
    assert findings(made) == []


def test_a_kernel_stands_behind_what_its_decorators_read_and_its_lines_end_where_they_did() -> None:
    behind = "def chosen(arguments):\n    return 256\n\ncopy = triton.heuristics({'BLOCK': chosen})(copy)\n\n"
    kernel = KERNEL.replace("def kernel_function", f"{behind}def kernel_function")
    made = normal_form(kernel)
    assert made.index("def chosen") < made.index("@triton.heuristics({'BLOCK': chosen})\n@triton.jit\ndef copy(")
    assert made.splitlines()[-4:] == kernel.splitlines()[-4:]
    assert made.count("\n") == kernel.count("\n")
    assert findings(made) == []
    used = normal_form(kernel.replace("    return 256", "    return copy.n_regs or 256"))
    assert any("bound more than once" in one for one in findings(used))


def test_what_the_worker_looks_for_stays_where_nothing_else_is_reached() -> None:
    backward = KERNEL.split("\n\n")[-1].replace("kernel_function", "kernel_backward")
    made = normal_form(f"import os\nSAVED = ('out',)\n{KERNEL}\n{backward}")
    assert "import os" not in made
    assert "SAVED = ('out',)" in made
    assert backward in made


def test_a_kernel_wrapped_for_tracing_is_the_kernel() -> None:
    made = normal_form(KERNEL.replace("    copy[(1,)]", "    torch.library.wrap_triton(copy)[(1,)]"))
    assert "wrap_triton" not in made
    assert findings(made) == []


def test_a_branch_for_tracing_goes_and_one_against_it_stays() -> None:
    for condition, fine in (
        ("torch.compiler.is_compiling()", True),
        ("not torch.jit.is_scripting() and torch.compiler.is_compiling()", True),
        ("not torch.compiler.is_compiling()", False),
        ("torch.compiler.is_compiling() or x.shape[0] > 1", False),
    ):
        source = KERNEL.replace("    out = torch", f"    if {condition}:\n        x = x.contiguous()\n    out = torch")
        assert (findings(normal_form(source)) == []) is fine


def test_a_function_is_kept_without_what_torch_compile_reads_above_it() -> None:
    for above in ("torch.compiler.disable", "torch.compiler.disable(recursive=False)", "torch._dynamo.disable"):
        made = normal_form(KERNEL.replace("def kernel_function", f"@{above}\ndef kernel_function"))
        assert above not in made
        assert findings(made) == []


@pytest.mark.parametrize("above", [
    "torch.library.triton_op('own::copy', mutates_args={})", "torch.library.custom_op('own::copy', mutates_args=())",
    "torch.library.impl(LIBRARY, 'copy', 'CUDA')", "torch.fx.wrap",
])  # fmt: skip
def test_a_function_is_kept_without_what_makes_it_an_operator(above: str) -> None:
    source = KERNEL.replace("def kernel_function", f"@{above}\ndef kernel_function")
    made = normal_form("LIBRARY = torch.library.Library('own', 'FRAGMENT')\n" + source)
    assert "library" not in made.lower()
    assert findings(made) == []
    imported = normal_form("from torch.library import triton_op\n" + source.replace(f"@{above}", "@triton_op('a::b')"))
    assert findings(imported) == []


@pytest.mark.parametrize("line", ["tl.static_print('block', BLOCK)", "tl.static_print(f'{x_ptr.dtype}')"])
def test_what_a_kernel_prints_while_it_is_compiled_is_left_out(line: str) -> None:
    source = KERNEL.replace("    tl.store", f"    {line}\n    tl.store")
    assert findings(source) != []
    assert findings(normal_form(source)) == []


@pytest.mark.parametrize("line", ["torch.manual_seed(1)", "torch.set_printoptions(precision=3)"])
def test_what_scripts_set_first_is_left_out_at_module_level_only(line: str) -> None:
    assert findings(normal_form(KERNEL.replace("\n@triton.jit", f"\n{line}\n\n@triton.jit"))) == []
    assert findings(normal_form(KERNEL.replace("    out = torch", f"    {line}\n    out = torch"))) != []


SEEDED = (
    KERNEL
    + """
class Weights(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        if n:
            torch.manual_seed(n)
            torch.cuda.manual_seed_all(n)
        self.weight = torch.nn.Parameter(torch.randn(n))

    def forward(self, x):
        return kernel_function(x)

class ModelNew(Weights):
    pass
"""
)


def test_a_seed_is_left_out_of_a_constructor_only() -> None:
    made = normal_form(SEEDED)
    assert findings(made) == []
    assert "manual_seed" not in made
    for place in ("return kernel_function", "self.weight ="):
        below = SEEDED.replace(place, f"draw = lambda: torch.manual_seed(1)\n        {place}")
        assert findings(normal_form(below)) != []
    assert "manual_seed" in normal_form(
        SEEDED.replace("return kernel_f", "torch.manual_seed(1)\n        return kernel_f")
    )


@pytest.mark.parametrize("above", ["functools.lru_cache", "functools.lru_cache(maxsize=None)", "functools.cache"])
def test_a_question_that_is_cached_is_asked_again_and_a_cached_launch_is_refused(above: str) -> None:
    asked = (
        f"@{above}\ndef sms():\n    return torch.cuda.get_device_properties(0).multi_processor_count\n\ndef kernel_f"
    )
    source = "import functools\n" + KERNEL.replace("def kernel_f", asked).replace("copy[(1,)]", "copy[(sms(),)]")
    assert findings(source) != []
    assert findings(normal_form(source)) == []
    cached = "import functools\n" + KERNEL.replace("def kernel_function", f"@{above}\ndef kernel_function")
    assert findings(normal_form(cached)) != []


@pytest.mark.parametrize(("table", "is_asked"), [("{(9, 0): 132}", True), ("{(9, 0): torch.empty(4)}", False)])
def test_a_cached_answer_may_be_looked_up_in_a_table_of_constants_or_raise(table: str, *, is_asked: bool) -> None:
    asked = (
        f"SMS = {table}\n\n@functools.cache\ndef sms(device: int = 0):\n    if not torch.cuda.is_available():\n"
        "        raise RuntimeError(f'no device {device}')\n"
        "    return SMS.get(torch.cuda.get_device_capability(device), 1)\n\ndef kernel_f"
    )
    source = "import functools\n" + KERNEL.replace("def kernel_f", asked).replace("copy[(1,)]", "copy[(sms(),)]")
    assert ("functools.cache" not in normal_form(source)) == is_asked
