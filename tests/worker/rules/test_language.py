"""The list of names that kernels may use: complete for each supported Triton, and nothing in it leads out."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import triton_names
from kernelwright.worker.rules import language
from kernelwright.worker.rules.body import ALLOWED_BUILTINS
from kernelwright.worker.rules.bound_names import COMPILER_BUILTINS, INTERPRETER_NAMES
from kernelwright.worker.rules.language import MODULES, is_type, why_refused

LISTED = triton_names.listed()
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("version", sorted(LISTED))
def test_every_name_of_a_supported_triton_is_decided_about(version: str) -> None:
    names = LISTED[version]
    assert set(names) == {*triton_names.MODULES, "values"}
    assert {f"{m}.{n}" for m in names for n in names[m] - triton_names.decided(language, m)} == set()


@pytest.fixture(scope="module")
def installed() -> dict[str, list[str]]:
    """Of a process of its own: a module also shows the submodules that other tests imported."""
    program = "import json, triton_names; print(json.dumps(triton_names.public_names()))"
    folder = str(Path(triton_names.__file__).parent)
    printed = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": folder}, capture_output=True, check=True
    ).stdout
    found: dict[str, list[str]] = json.loads(printed)
    return found


def test_every_name_of_the_installed_triton_is_decided_about(installed: dict[str, list[str]]) -> None:
    """A new Triton that exposes another name fails here, before a kernel can walk out through it."""
    for module, names in installed.items():
        assert set(names) - triton_names.decided(language, module) == set(), module


def test_the_list_says_what_the_installed_triton_has(installed: dict[str, list[str]]) -> None:
    version = triton_names.installed_version()
    assert version in LISTED, f"run tests/triton_names.py with Triton {version}"
    for module, names in installed.items():
        assert {n for n in names if f"{module}.{n}" not in MODULES} == {
            n for n in LISTED[version][module] if f"{module}.{n}" not in MODULES
        }, module


def test_the_list_holds_every_version_that_the_project_supports() -> None:
    stated = re.search(r'"triton>=(\d+)\.(\d+),<(\d+)\.(\d+);', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert stated is not None
    major, first, _, behind = (int(number) for number in stated.groups())
    assert sorted(LISTED) == [f"{major}.{minor}" for minor in range(first, behind)]


def test_every_name_of_pythons_math_is_decided_about() -> None:
    assert {name for name in dir(math) if not name.startswith("_")} <= MODULES["math"].every


def test_a_name_has_one_decision() -> None:
    for module, decisions in MODULES.items():
        kinds = (decisions.allowed, decisions.types, frozenset(decisions.refused))
        assert sum(map(len, kinds)) == len(decisions.every), module
    assert not language.VALUE_ATTRIBUTES & language.REFUSED_ATTRIBUTES


def test_a_name_that_nobody_decided_about_is_refused() -> None:
    assert why_refused("triton.language", "evaluate_text") == language.UNDECIDED
    assert why_refused("triton.language", "_semantic")
    assert why_refused("triton.language", "*")
    assert "Python" in why_refused("triton.language", "str_to_ty")
    assert why_refused("triton.language", "load") == ""
    assert is_type("triton.language.tensor")
    assert not is_type("triton.language.load")


def test_no_allowed_name_is_a_module_or_a_function_of_another_project() -> None:
    """What a module of the language merely imported (functools.wraps, …) is Python, which Triton would call."""
    for path, decisions in MODULES.items():
        module = importlib.import_module(path)
        for name in decisions.allowed | decisions.types:
            value = getattr(module, name, None)
            if isinstance(value, types.ModuleType):
                assert f"{path}.{name}" in MODULES, f"{path}.{name}"
            elif callable(value):
                assert str(getattr(value, "__module__", "triton")).startswith(("triton", "math")), f"{path}.{name}"


def test_names_of_types_are_classes_and_no_class_of_values_may_be_called() -> None:
    import triton.language as tl

    for name in MODULES["triton.language"].types:
        assert isinstance(getattr(tl, name), type), name
    classes = {name for name, value in vars(tl).items() if isinstance(value, type) and not name.startswith("_")}
    known = {"constexpr", "dtype", "pointer_type", "range", "static_range", "condition", "PropagateNan"}
    assert classes & MODULES["triton.language"].allowed <= known


def test_the_compilers_own_builtins_are_allowed_or_no_name_of_a_variable() -> None:
    from triton.compiler.code_generator import CodeGenerator

    assert set(CodeGenerator.builtin_namespace) <= ALLOWED_BUILTINS | COMPILER_BUILTINS


def test_what_the_interpreter_writes_into_a_body_is_known() -> None:
    import ast

    from triton.runtime.interpreter import ASTTransformer

    tree = ASTTransformer().visit(ast.parse("a = b"))
    written = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - {"a", "b"}
    assert written == INTERPRETER_NAMES


def test_attributes_of_language_objects_do_not_lead_out() -> None:
    import triton.language as tl

    roots = (tl.tensor, tl.dtype, tl.float32, tl.constexpr, tl.tensor_descriptor, tl.sum, tl.load)
    out = [f"{root}.{name}" for root in roots for name in language.VALUE_ATTRIBUTES
           if isinstance(getattr(root, name, None), types.ModuleType | types.FrameType | types.CodeType)]  # fmt: skip
    assert out == []
