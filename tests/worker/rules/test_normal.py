"""The normal form: what it leaves out and computes, what it leaves alone, and that lines keep their numbers."""

from __future__ import annotations

import re

import pytest

from kernelwright.worker.rules import triton
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.normal import normal_form
from kernelwright.worker.rules.versions import version

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


def findings(source: str) -> list[str]:
    return [str(finding) for finding in triton.check(source).findings]


HARMLESS = {
    "logging": "import logging\nlogger = logging.getLogger(__name__)\n",
    "a test": "import time\ndef test_it():\n    torch.cuda.synchronize()\n    return time.time()\n",
    "a reference": "def reference(x):\n    return x.cpu().tolist()\n",
    "numpy that nothing uses": "import numpy as np\n",
    "versions": "from packaging import version\nNEW = version.parse(triton.__version__) >= version.parse('3.0')\n",
    "a word to torch.compile": "@torch.compiler.disable\ndef helper():\n    return 1\nONE = helper\n",
    "a table": "SIZES = {'a': 1, 'b': 2}\n",
    "an import under try": "try:\n    import flash_attn\n    HAS = True\nexcept ImportError:\n    HAS = False\n",
    "a warning": "import warnings\nwarnings.filterwarnings('ignore')\n",
    "what only type checkers import": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\n",
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


@pytest.mark.parametrize(("written", "computed"), [
    ("1.0 / math.log(2.0)", "1.4426950408889634"),
    ("math.log2(math.e)", "1.4426950408889634"),
    ("2 ** 31 - 1", "2 ** 31 - 1"),
    ("float('-inf')", "-1e+999"),
    ("int(os.environ.get('BLOCK', '64'))", "64"),
    ("os.getenv('DEBUG') == '1'", "False"),
    ("64 if os.environ.get('A', '0') == '1' else 128", "128"),
    ("torch.finfo(torch.float16).max", "65504.0"),
    ("tl.constexpr(math.sqrt(4))", "tl.constexpr(2.0)"),
    ("10 ** 10 ** 10", "10 ** 10 ** 10"),
    ("'a' * 10 ** 9", "'a' * 10 ** 9"),
])  # fmt: skip
def test_constants_are_computed(written: str, computed: str) -> None:
    source = f"import math\nimport os\nSERVES = {written}\n" + KERNEL
    line = normal_form(source).splitlines()[2]
    assert line.replace("(", "").replace(")", "").replace("1e999", "1e+999") == f"SERVES = {computed}".replace(
        "(", ""
    ).replace(")", "")


def test_a_name_of_the_module_is_no_builtin() -> None:
    source = "map = other\nif tuple(map(int, '3.0'.split('.'))) == (3, 0):\n    SERVES = 1\nelse:\n    SERVES = 2\n"
    assert "if tuple(map(" in normal_form(source + KERNEL)


def test_a_list_of_constants_stays_a_list() -> None:
    written = "SERVES = 'a b'.split(' ')"
    assert normal_form(f"{written}\n{KERNEL}").startswith(f"{written}\n")


def test_a_constant_of_a_kernel_may_be_computed() -> None:
    source = "import math\nLOG2E: tl.constexpr = 1.0 / math.log(2.0)\n" + KERNEL.replace(
        "mask=lanes < n), mask", "mask=lanes < n) * LOG2E, mask"
    )
    assert findings(source) != []
    assert findings(normal_form(source)) == []


LIBDEVICE = """\
try:
    from triton.language.extra.libdevice import {name} as f
except ModuleNotFoundError:
    from triton.language.extra.cuda.libdevice import {name} as f
"""


def test_an_import_under_try_is_decided_by_the_installed_triton() -> None:
    assert is_installed("triton.language", "program_id")
    assert not is_installed("triton.language", "no_such_name")
    assert not is_installed("triton.no_such_module")
    kernel = KERNEL.replace("tl.load(x_ptr + lanes, mask=lanes < n)", "f(tl.load(x_ptr + lanes, mask=lanes < n))")
    first = normal_form(LIBDEVICE.format(name="rsqrt") + kernel)
    assert "from triton.language.extra.libdevice import rsqrt as f" in first
    assert "except" not in first
    assert findings(first) == []
    swapped = (
        LIBDEVICE.format(name="exp2")
        .replace("extra.libdevice", "extra.no_such_module")
        .replace("extra.cuda.", "extra.")
    )
    assert "from triton.language.extra.libdevice import exp2 as f" in normal_form(swapped + kernel)


VERSIONED = """
from packaging import version
from packaging.version import Version
import torch
import triton
try:
    if {condition}:
        from triton.language.extra import libdevice as chosen
    else:
        import triton.language.no_such_module as chosen
except ImportError:
    chosen = None

def kernel_function(x):
    return chosen
"""


@pytest.mark.parametrize(("condition", "chosen"), [
    ('version.parse(triton.__version__) >= version.parse("2.0.0")', True),
    ('Version(triton.__version__) < Version("99")', True),
    ('version.parse(triton.__version__) >= version.parse("99.0.0")', False),
    ('tuple(map(int, triton.__version__.split(".")[:2])) >= (2, 0)', True),
    ('tuple(int(one) for one in triton.__version__.split(".")[:2]) >= (99, 0)', False),
    ('[int(one) for one in triton.__version__.split(".")[:2]] >= [2, 0]', True),
    ('int(triton.__version__.split(".")[0]) > 98', False),
    ("Version(torch.__version__).major >= 2", True),
])  # fmt: skip
def test_a_version_may_be_asked_under_try(condition: str, chosen: bool) -> None:
    found = normal_form(VERSIONED.format(condition=condition))
    assert "packaging" not in found
    assert "try" not in found
    assert ("import libdevice as chosen" in found, "chosen = None" in found) == (chosen, not chosen)


@pytest.mark.parametrize(("text", "known"), [
    ("3.7.1", "3.7.1"), ("2.13.0+cpu", "2.13+cpu"), ("v3.0", "3"), ("3.0.post1", "3.post1"), ("0", "0.0"),
])  # fmt: skip
def test_versions_are_ordered_as_packaging_orders_them(text: str, known: str) -> None:
    from packaging.version import Version

    assert Version(text) == Version(known)
    others = ["2.12", "2.13.0", "2.13.0+cpu", "2.13.1", "3.0", "3.0.0.post1", "3.0.1", "3.7.1", "3.10", "0"]
    for other in others:
        assert (version(text) < version(other)) == (Version(text) < Version(other)), other
        assert (version(text) == version(other)) == (Version(text) == Version(other)), other


@pytest.mark.parametrize("text", ["3.0rc1", "3.0.dev20250101", "main"])
def test_a_pre_release_is_no_version_that_is_compared(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        version(text)


def test_the_version_may_be_imported_under_the_same_try() -> None:
    inside = VERSIONED.replace("from packaging import version\n", "").replace(
        "try:\n", "try:\n    from packaging import version\n"
    )
    for least, chosen in (("2", "import libdevice as chosen"), ("99", "chosen = None")):
        found = normal_form(inside.format(condition=f'version.parse(triton.__version__) >= version.parse("{least}")'))
        assert chosen in found
        assert "packaging" not in found


def test_versions_are_compared_in_functions_too() -> None:
    top = "from packaging import version\nFIRST = version.parse(triton.__version__)\n"
    test = "version.parse(triton.__version__) >= version.parse('3')"
    for condition in (test, "FIRST >= version.parse('3')"):
        found = normal_form(top + KERNEL.replace("    out = torch", f"    new = {condition}\n    out = torch"))
        assert "new = (True)" in found
        assert "packaging" not in found
    own = KERNEL.replace("    out = torch", f"    version = x\n    new = {test}\n    out = torch")
    assert f"new = {test}" in normal_form(top + own)


def test_a_package_that_host_code_may_not_use_is_not_found() -> None:
    top = "import importlib.util\nHAS = importlib.util.find_spec('{}') is not None\n"
    use = KERNEL.replace("    out = torch", "    x = flash_attn.twice(x) if HAS else x\n    out = torch")
    found = normal_form(top.format("flash_attn") + "if HAS:\n    import flash_attn\n" + use)
    assert "importlib" not in found
    assert "HAS = (False)" in found
    assert "importlib" in normal_form(top.format("torch") + use)


def test_after_an_import_that_fails_nothing_of_its_try_matters() -> None:
    top = "try:\n    {}\n    HAS = vllm.is_here()\nexcept ImportError{}:\n    HAS = False\n    WHY = {}\n"
    use = KERNEL.replace("BLOCK=256", "BLOCK=128 if HAS else 256")
    use = use.replace("    out = torch", "    if HAS:\n        raise WHY\n    out = torch")
    found = normal_form(top.format("import vllm", " as error", "error") + use)
    assert "HAS = False" in found
    assert "error = ImportError()" in found
    assert findings(found) == []
    for first in ("vllm = torch.vllm()\n    import vllm", "import triton as vllm"):
        assert "vllm" in normal_form(top.format(first, "", "None") + use)


def test_a_condition_that_is_not_known_stays_under_try() -> None:
    source = "try:\n    if ask():\n        import triton\nexcept ImportError:\n    triton = None\n"
    assert normal_form(source + "\ndef kernel_function(x):\n    return triton\n").startswith("try:\n    if ask():")


@pytest.mark.parametrize(("written", "computed"), [
    ("int(torch.prod(torch.tensor(x.shape)).item())", "int((math.prod(x.shape)))"),
    ("torch.tensor(x.shape[1:], device=x.device).prod().item()", "(math.prod(x.shape[1:]))"),
    ("torch.tensor([3, 4]).max().item()", "(max([3, 4]))"),
])  # fmt: skip
def test_a_number_by_way_of_a_tensor_is_computed_without_it(written: str, computed: str) -> None:
    found = normal_form(KERNEL.replace("    out = torch", f"    size = {written}\n    out = torch"))
    assert f"size = {computed}" in found
    assert ("import math" in found) is ("math" in computed)
    assert findings(found) == []


@pytest.mark.parametrize("written", [
    "x.view(-1).prod().item()", "torch.sum(abs(x)).item()", "torch.tensor(x.shape).prod(0).item()",
    "torch.tensor(x.shape, dtype=torch.half).prod().item()",
    "torch.tensor(x.shape).std().item()",
])  # fmt: skip
def test_a_number_that_depends_on_a_tensor_stays(written: str) -> None:
    found = normal_form(KERNEL.replace("    out = torch", f"    size = {written}\n    out = torch"))
    assert f"size = {written}" in found
    assert any(".item" in finding for finding in findings(found))


def test_a_wait_for_the_device_is_left_out_of_host_code() -> None:
    wait = "torch.cuda.synchronize()"
    assert "synchronize" not in normal_form(KERNEL.replace("    return out", f"    {wait}\n    return out"))
    assert wait in normal_form(KERNEL.replace("    lanes =", f"    {wait}\n    lanes ="))
    assert "synchronize" in normal_form(KERNEL.replace("    out =", "    torch.cuda.synchronize = print\n    out ="))


def test_a_raise_in_a_kernel_is_an_assertion() -> None:
    kernel = KERNEL.replace(
        "    lanes = tl.arange", "    if BLOCK < 2:\n        raise ValueError(BLOCK)\n    lanes = tl.arange"
    )
    assert findings(kernel) != []
    made = normal_form(kernel)
    assert findings(made) == []
    assert "tl.static_assert(False)" in made


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
    for use, fine in (("SIZES['a']", False), ("SIZES['a'][0]", True), ("SIZES['a'].append(1)", False)):
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


def test_flags_of_the_process_are_those_of_a_new_one() -> None:
    source = KERNEL.replace("BLOCK=256", "BLOCK=512 if torch.backends.cuda.matmul.allow_tf32 else 256")
    made = normal_form(source)
    assert "BLOCK=512 if (False) else 256" in made
    assert findings(made) == []
    flags = "torch.backends.cuda.matmul.allow_tf32 = True\n"
    assert flags in normal_form(flags + KERNEL)


def test_what_the_framework_lacks_in_old_versions_is_not_put_there() -> None:
    patch = "torch.distributed.one = torch.distributed._one"
    for condition in ("'one' not in dir(torch.distributed)", "'no_such_name' in dir(triton.language)"):
        made = normal_form(KERNEL + f"if {condition}:\n    {patch}\n")
        assert patch not in made
        assert findings(made) == []
    assert patch in normal_form(KERNEL + f"if 'one' not in dir(other):\n    {patch}\n")


@pytest.mark.parametrize("line", ["torch.manual_seed(1)", "torch.set_printoptions(precision=3)"])
def test_what_scripts_set_first_is_left_out_at_module_level_only(line: str) -> None:
    assert findings(normal_form(KERNEL.replace("\n@triton.jit", f"\n{line}\n\n@triton.jit"))) == []
    assert findings(normal_form(KERNEL.replace("    out = torch", f"    {line}\n    out = torch"))) != []


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
