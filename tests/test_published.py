"""The benchmark of published kernels: its manifest, and how a candidate is made of a project's files."""

from __future__ import annotations

import ast
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("yaml")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the benchmark is run as a module of this folder
from benchmarks.published import assemble, manifest

ENTRY = """
import math
import triton
import triton.language as tl
from lib import env, guard
from lib import device as dev
from .inner import scale as factor, BLOCK
from . import inner

FAST = env("FAST")
if FAST:
    def helper(x): return x
else:
    def helper(x): return inner.twice(x) + factor(x)


@guard()
@triton.jit
def kernel(x, y, n, B: tl.constexpr):  # every element once
    BLOCK = tl.program_id(0)
    tl.store(y + BLOCK, tl.load(x + BLOCK))


def unused():
    return math.pi


def entry(x):
    with dev.guard(x):
        kernel[(BLOCK,)](x, helper(x), 3, B=inner.BLOCK)
    return [BLOCK for BLOCK in range(3)]
"""
INNER = '''
"""A module."""
BLOCK = 16
def helper(x): return x
def twice(x): return 2 * helper(x)
def scale(x): return x * BLOCK
'''


@pytest.fixture
def files(tmp_path: Path) -> Path:
    place = tmp_path / "project.whl"
    with zipfile.ZipFile(place, "w") as wheel:
        for name, text in (("pkg/__init__.py", ""), ("pkg/entry.py", ENTRY), ("pkg/inner.py", INNER)):
            wheel.writestr(name, text)
    return place


def candidate(place: Path) -> str:
    instead = {"lib.guard": "", "lib.device": "torch.cuda"}
    assembly = assemble.Assembly(assemble.Files(place, "1"), instead, {"FAST": False})
    return assembly.candidate("pkg/entry.py", "def kernel_function(x):\n    return entry(x)\n")


def test_a_candidate_holds_what_its_function_reaches_and_nothing_else(files: Path) -> None:
    names = {node.name for node in ast.parse(candidate(files)).body if isinstance(node, ast.FunctionDef)}
    assert {"entry", "helper", "kernel", "kernel_function", "scale", "twice"} < names
    assert len(names) == 7, "of the two helpers one is renamed, and `unused` is left out"


def test_a_definition_keeps_its_text_but_for_names_of_other_modules(files: Path) -> None:
    text = candidate(files)
    assert "def kernel(x, y, n, B: tl.constexpr):  # every element once\n    BLOCK = tl.program_id(0)\n" in text
    assert "kernel[(BLOCK,)](x, helper(x), 3, B=BLOCK)" in text
    assert "return twice(x) + scale(x)" in text


def test_what_is_listed_instead_of_a_name_is_written_there_or_left_out(files: Path) -> None:
    text = candidate(files)
    assert "with torch.cuda.guard(x):" in text
    assert "@guard" not in text
    assert "import torch\n" in text


def test_only_the_branch_of_a_decided_test_is_taken(files: Path) -> None:
    assert "FAST" not in candidate(files)


def test_two_modules_that_bind_one_name_are_told_apart(files: Path) -> None:
    names: dict[str, object] = {}
    program = candidate(files).replace("@triton.jit", "").replace(": tl.constexpr", "")
    program = "\n".join(line for line in program.splitlines() if not line.startswith(("import", "from")))
    exec(program, names)
    helper = names["helper"]
    assert callable(helper)
    assert helper(3) == 2 * 3 + 3 * 16


def test_a_name_that_a_project_does_not_have_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("pkg/__init__.py", "")
        wheel.writestr("pkg/entry.py", "from pkg import missing\ndef entry(): return missing()\n")
    assembly = assemble.Assembly(assemble.Files(tmp_path / "a.whl", "1"), {}, {})
    with pytest.raises(assemble.AssemblyError, match="has no missing"):
        assembly.candidate("pkg/entry.py", "def kernel_function(): return entry()\n")


def test_configs_of_a_table_are_written_out() -> None:
    entry = {"gen": True, "param_map": {"META": {"B": "b"}, "num_warps": "w"}, "b": [1, 2], "w": [4]}
    assert assemble.configs([entry, {"META": {"B": 3}, "num_warps": 8}]) == (
        "[triton.Config({'B': 1}, num_warps=4), triton.Config({'B': 2}, num_warps=4), "
        "triton.Config({'B': 3}, num_warps=8)]"
    )


def test_there_are_enough_kernels_each_with_a_problem_a_label_and_its_reason() -> None:
    kernels = manifest.kernels()
    labels = Counter(kernel.label for kernel in kernels)
    assert len(kernels) >= 100
    assert labels["not expressible"] <= 0.15 * len(kernels)
    assert len({kernel.name for kernel in kernels}) == len(kernels)
    for kernel in kernels:
        assert kernel.problem_file.is_file(), kernel.name
        assert kernel.reason, kernel.name
        assert len(kernel.adapter.splitlines()) < 20, kernel.name


def test_every_problem_belongs_to_a_kernel_and_states_a_small_and_a_full_case() -> None:
    used = {kernel.problem_file for kernel in manifest.kernels()}
    for file in (manifest.HERE / "problems").glob("*.py"):
        assert file in used, f"{file.name} is of no kernel"
        text = file.read_text(encoding="utf-8")
        assert "small=True" in text, file.name
        assert 'name="full"' in text, file.name
