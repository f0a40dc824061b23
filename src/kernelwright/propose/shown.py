"""A problem's source as prompts show it: without its list of cases. Pure.

The cases that may be shown are in a table of the prompt. Held-out sizes must stay unknown: a kernel fitted to them
would make the confirmation meaningless. So every statement about CASES is removed, and every definition that only such
statements use. LIBRARY is removed too: a run may override it, and the prompt states the mode in words.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import assigned_targets, names_in

REPLACEMENT = "# CASES: see the table below."
STATED = frozenset({"CASES", "LIBRARY"})
"""Names that prompts state in other words."""


def shown_source(source: str) -> str:
    """`source` without the module-level statements about the names in STATED, and without definitions that only those
    statements use. Unchanged where it does not parse."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError):
        return source
    cut = cut_statements(tree.body)
    lines = re.split(r"\r\n|\r|\n", source)  # as the parser counts them
    first = next((node for node in cut if "CASES" in names_in(node)), None)
    for node in reversed(cut):
        lines[node.lineno - 1 : node.end_lineno] = [REPLACEMENT] if node is first else []
    text = "\n".join(lines)
    return re.sub(r"\n{4,}", "\n\n\n", text) if cut else source


def cut_statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements to remove, in the order of the source. A string below a removed statement describes it and is
    removed too."""
    cut = {node for node in body if concerns(node)}
    while True:
        kept_names = {name for node in body if node not in cut for name in names_in(node) - defines(node)}
        cut_names = {name for node in cut for name in names_in(node)}
        more = {
            node for node in body
            if node not in cut and (own := defines(node)) and own <= cut_names and not own & kept_names
        }  # fmt: skip
        if not more:
            break
        cut |= more
    texts = {text for node, text in pairwise(body) if node in cut and is_text(text)}
    return [node for node in body if node in cut | texts]


def concerns(node: ast.stmt) -> bool:
    """Whether a module-level statement uses a name in STATED. Definitions of functions and classes do not count."""
    return not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and bool(STATED & names_in(node))


def defines(node: ast.stmt) -> set[str]:
    """The names that a statement binds to a value or a function. Empty for classes and imports, which are kept."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {name for target in assigned_targets(node) for name in names_in(target)}


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
