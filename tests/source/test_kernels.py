"""What a kernel is: the tuner and the rules of the worker find the same ones in every source of this project."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from kernelwright.source import parse as syntax
from kernelwright.source.kernels import read_kernels
from kernelwright.source.scopes import Reader
from kernelwright.worker.rules.extract import Kernels, extract

ROOT = Path(__file__).resolve().parents[2]
FILES = [*ROOT.glob("gallery/*/*.py"), *ROOT.glob("tests/honest/kernels/*/*.py")]
FAMILIES = sorted(path.stem for path in ROOT.glob("tests/exploits/families/*.py"))


def sources() -> dict[str, str]:
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
    for family in FAMILIES:
        for attack in importlib.import_module(f"exploits.families.{family}").ATTACKS:
            found[f"{family}-{attack.name}"] = attack.kernel.source
    return found


def tuned(source: str) -> dict[str, set[str]]:
    """The constexpr parameters of each kernel that the tuner reads."""
    return {name: set(kernel.constexprs) for name, kernel in read_kernels(Reader(syntax.parse(source))).items()}


def constexprs(kernels: Kernels) -> dict[str, set[str]]:
    return {kernel: {name for name, known in own.items() if known} for kernel, own in kernels.parameters.items()}


def test_the_tuner_and_the_rules_find_the_same_kernels() -> None:
    allowed = 0
    for name, source in sources().items():
        kernels, read = extract(source), tuned(source)
        if kernels.findings:
            assert read.items() <= constexprs(kernels).items(), name
        else:
            assert read == constexprs(kernels), name
            allowed += bool(read)
    assert allowed >= 100


KERNEL = "def kernel(X, BLOCK: tl.constexpr):\n    pass\n"


@pytest.mark.parametrize(
    ("source", "is_kernel"),
    [
        (f"import triton, triton.language as tl\n@triton.jit\n{KERNEL}", True),
        (f"import triton.language as tl\nfrom triton import jit\n@jit(noinline=True)\n{KERNEL}", True),
        (f"import triton as t, triton.language as tl\n@t.jit\n{KERNEL}", True),
        ("import triton\nif True:\n    @triton.jit\n    def kernel(X): pass\n", False),
        ("import triton\nclass A:\n    @triton.jit\n    def kernel(X): pass\n", False),
        (f"import triton\nfrom triton.runtime.jit import jit as j\n@j\n{KERNEL}", False),
    ],
)
def test_a_kernel_stands_in_the_module_under_triton_jit(source: str, is_kernel: bool) -> None:
    assert bool(tuned(source)) is bool(extract(source).names) is is_kernel


def test_a_decorator_that_only_reads_like_tritons_makes_a_kernel_that_the_rules_refuse() -> None:
    source = f"import triton.language as tl\ndef jit(f): return f\n@jit\n{KERNEL}"
    assert not tuned(source)
    assert "does not name Triton" in str(extract(source).findings)


def test_triton_jit_under_another_name_is_refused() -> None:
    found = extract(f"import triton as t, triton.language as tl\n@t.jit\n{KERNEL}").findings
    assert [str(finding) for finding in found] == [
        "line 2: the decorator 't.jit' is triton.jit under another name; write @triton.jit"
    ]
