"""Strings in kernels: where f-strings and percent signs are allowed. Pure syntax.

A string made from a tensor contains an address in the interpreter and something else in the compiler. F-strings may
therefore insert constants only, and are allowed in messages and inline assembly only. Strings with a percent sign are
allowed in the same places only, because Python's `%` could insert values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.bindings import defaults_of, names_in
from kernelwright.source.kernels import is_constexpr
from kernelwright.worker.rules.imports import Finding, Imports

SHOWN = {
    "triton.language.static_assert": (1, "msg"),
    "triton.language.device_assert": (1, "msg"),
    "triton.language.inline_asm_elementwise": (0, "asm"),
}
"""Position and name of the argument that is a message or an assembly text."""


def check_texts(function: ast.FunctionDef, imports: Imports, constants: Mapping[str, ast.expr]) -> list[Finding]:
    """Findings for f-strings that insert values, and for f-strings and percent signs outside of messages and SHOWN."""
    shown = {id(node) for text in _shown(function, imports) for node in ast.walk(text)}
    patterns = _patterns(constants)
    fixed = {one.arg for one in function.args.args if is_constexpr(one.annotation, imports.paths)} | constants.keys()
    findings = [
        Finding(default.lineno, "the default of a kernel's argument may not hold a percent sign")
        for default in defaults_of(function.args).values()
        if _has_pattern(default, patterns)
    ]
    for node in (n for statement in function.body for n in ast.walk(statement)):
        match node:
            case ast.FormattedValue():
                if id(node) not in shown or not _is_fixed(node, fixed):
                    rule = "an f-string in a kernel may hold constants only, and in a message or inline assembly only"
                    findings.append(Finding(node.lineno, rule))
            case ast.Constant() | ast.Name() if id(node) not in shown and _has_pattern(node, patterns):
                findings.append(
                    Finding(node.lineno, "a text with a percent sign belongs in messages and assembly only")
                )
    return findings


def _shown(function: ast.FunctionDef, imports: Imports) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value  # a docstring
        elif isinstance(node, ast.Call) and (place := SHOWN.get(imports.dotted(node.func) or "")):
            yield from node.args[place[0] : place[0] + 1]
            yield from (keyword.value for keyword in node.keywords if keyword.arg == place[1])


def _patterns(constants: Mapping[str, ast.expr]) -> set[str]:
    """Names of constants whose value, or a constant in it, has a percent sign."""
    found: set[str] = set()
    while more := {name for name, value in constants.items() if name not in found and _has_pattern(value, found)}:
        found |= more
    return found


def _has_pattern(node: ast.expr, patterns: set[str]) -> bool:
    return bool(names_in(node) & patterns) or any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and "%" in n.value for n in ast.walk(node)
    )


def _is_fixed(value: ast.FormattedValue, fixed: set[str]) -> bool:
    """Whether a field is the bare name of a constant, for which the compiler inserts the same characters."""
    return (isinstance(value.value, ast.Name) and value.value.id in fixed and value.conversion == -1
            and value.format_spec is None)  # fmt: skip
