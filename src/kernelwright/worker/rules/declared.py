"""The input layouts that a candidate supports: `SERVES = ("dense", "aligned")` at module level. Pure syntax.

It narrows the inputs on which the candidate is judged, and those that an export passes to the kernel. It is never
inferred.
"""

from __future__ import annotations

import ast
from typing import Literal, get_args

from kernelwright.source.bindings import bindings
from kernelwright.worker.rules.imports import Finding

NAME = "SERVES"

Declared = Literal["dense", "aligned"]


def declared(tree: ast.Module) -> tuple[tuple[Declared, ...], list[Finding]]:
    """The declared words, and a finding if the declaration is wrong."""
    found = [binding for binding in bindings(tree) if binding.name == NAME]
    if not found:
        return (), []
    words = _words(found[0].value)
    known: tuple[Declared, ...] = tuple(word for word in get_args(Declared) if word in words)
    if len(found) > 1 or not words or len(words) != len(known):
        rule = f'{NAME} is to be bound once, to "dense", "aligned" or a tuple of them'
        return (), [Finding(found[-1].line, rule)]
    return known, []


def _words(value: ast.expr | None) -> list[object]:
    match value:
        case ast.Constant(value=str(word)):
            return [word]
        case ast.Tuple(elts=elements):
            return [element.value if isinstance(element, ast.Constant) else None for element in elements]
        case _:
            return []
