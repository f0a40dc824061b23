"""Which names a source binds, to what, and what a dotted name means."""

from __future__ import annotations

import ast

import pytest

from kernelwright.source.bindings import bindings, dotted, imported_paths


def named(source: str) -> dict[str, list[str | None]]:
    """Text of the values by name, in order."""
    found: dict[str, list[str | None]] = {}
    for binding in bindings(ast.parse(source)):
        found.setdefault(binding.name, []).append(ast.unparse(binding.value) if binding.value else None)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b = 64", {"a": ["64"], "b": ["64"]}),
        ("a, (b, c) = 1, (2, f())", {"a": ["1"], "b": ["2"], "c": ["f()"]}),
        ("a, *b = 1, 2, 3", {"a": [None], "b": [None]}),
        ("a: int = 1", {"a": ["1"]}),
        ("a += 1", {"a": [None]}),
        ("x[a], y.b = 1, 2", {}),
        ("def f(x=(a := 1)): b = 2", {"f": [None], "a": [None]}),
        ("class A(f(b := 1)): c = 2", {"A": [None], "b": [None]}),
        ("[x for x in (y := z)]", {"y": [None]}),
        ("for a in b: c = 1", {"a": [None], "c": ["1"]}),
        ("import a.b\nimport c.d as e\nfrom f import g as h", {"a": [None], "e": [None], "h": [None]}),
        ("match a:\n    case [b, *c]: pass\n    case {'d': 1, **e}: pass", {"b": [None], "c": [None], "e": [None]}),
        ("try: pass\nexcept E as a: pass", {"a": [None]}),
    ],
)
def test_a_source_binds_names_in_its_own_scope(source: str, expected: dict[str, list[str | None]]) -> None:
    assert named(source) == expected


def test_an_annotation_without_a_value_declares_a_name() -> None:
    [binding] = bindings(ast.parse("a: int"))
    assert binding.declared


@pytest.mark.parametrize(
    ("imports", "name", "path"),
    [
        ("import triton", "triton.jit", "triton.jit"),
        ("import triton.language", "triton.jit", "triton.jit"),
        ("import triton.language as tl", "tl.constexpr", "triton.language.constexpr"),
        ("from triton import language", "language.math.exp", "triton.language.math.exp"),
        ("from .triton import jit", "jit", ".triton.jit"),
        ("if True: import triton", "triton.jit", None),
        ("triton = 1", "triton.jit", None),
        ("import triton", "f().jit", None),
    ],
)
def test_a_dotted_name_is_read_by_the_imports_of_the_module(imports: str, name: str, path: str | None) -> None:
    assert dotted(ast.parse(name, mode="eval").body, imported_paths(ast.parse(imports))) == path
