"""One spelling for each name of Triton's language and for each kernel: steps of the normal form. Pure syntax.

The rules know only this spelling. Published code also imports the parts of `triton.language` as modules
(`triton.language.core`), and gives kernels a second name.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import Imported, bound_values, dotted, imported, imported_paths
from kernelwright.source.edits import Edit, narrowed
from kernelwright.source.kernels import jit_functions
from kernelwright.worker.rules.bound_names import bound_names, looked_up
from kernelwright.worker.rules.installed import is_installed

LANGUAGE = "triton.language"

PARTS = frozenset({f"{LANGUAGE}.core", f"{LANGUAGE}.standard"})
"""Modules whose public names `triton.language` has too."""


def other_modules(tree: ast.Module) -> list[Edit]:
    """Replace imports of PARTS, and names reached through them, by those of `triton.language`. A module of which a
    name is used that `triton.language` lacks stays."""
    found = []
    paths = imported_paths(tree)
    inner = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not _is_public(node.attr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made = [_without_part(node, name) if name.name not in inner else None for name in imported(node)]
            if any(one is not None for one in made):
                kept = [narrowed(node, [alias]) for alias in node.names]
                text = "; ".join(new or old for new, old in zip(made, kept, strict=True))
                found.append(Edit(node, node, text))
        elif isinstance(node, ast.Attribute):
            part, last = node.value, node.attr
            if isinstance(part, ast.Attribute) and dotted(part, paths) in PARTS and _is_public(last):
                found.append(Edit(node, node, f"{ast.unparse(part.value)}.{last}"))
    return found


def _without_part(node: ast.Import | ast.ImportFrom, name: Imported) -> str | None:
    """The import of one name from `triton.language` instead of a module in PARTS; None if that is not equivalent."""
    part, _, last = name.path.rpartition(".")
    if name.path in PARTS:
        return f"import {LANGUAGE} as {name.name}"
    if isinstance(node, ast.ImportFrom) and part in PARTS and _is_public(last):
        return f"from {LANGUAGE} import {ast.unparse(name.alias)}"
    return None


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name != "*" and is_installed(LANGUAGE, name)


def other_names(tree: ast.Module) -> list[Edit]:
    """Replace a kernel's second name (`softplus = softplus_fast` at module level) by its own in kernel bodies."""
    kernels = {function.name for function in jit_functions(tree)}
    bound = bound_values(tree)
    second = {
        name: value.id
        for name, (value, *others) in bound.items()
        if isinstance(value, ast.Name) and not others and value.id in kernels and len(bound[value.id]) == 1
    }
    found = []
    for function in jit_functions(tree):
        own = bound_names(function.node)
        found += [
            Edit(node, node, second[node.id])
            for node in looked_up(function.node, own)
            if node.id in second and second[node.id] not in own.arguments | own.local
        ]
    return found
