"""A problem's source as the writer of candidates may see it: without its list of cases. Pure.

The cases that may be known are in a table of the prompt. Held-out sizes stay unknown, since a kernel
made to fit them would confirm nothing; so every statement about CASES goes, whatever it says, and what only such
statements use. LIBRARY goes too: a run may override it, and the prompt states in words what holds.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from kernelwright.source import parse as syntax

REPLACEMENT = "# CASES: see the table below."
STATED = frozenset({"CASES", "LIBRARY"})
"""What prompts state in other words."""


def shown_source(source: str) -> str:
    """`source` without the module's statements that make or change these, and without what only they use; as it is
    where it does not parse."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    cut = cut_statements(tree.body)
    lines = re.split(r"\r\n|\r|\n", source)  # as the parser counts them
    first = next((node for node in cut if "CASES" in names(node)), None)
    for node in reversed(cut):
        lines[node.lineno - 1 : node.end_lineno] = [REPLACEMENT] if node is first else []
    text = "\n".join(lines)
    return re.sub(r"\n{4,}", "\n\n\n", text) if cut else source


def cut_statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """What goes, in the order of the source; a text below it describes it and goes as well."""
    cut = {node for node in body if concerns(node)}
    while True:
        kept_names = {name for node in body if node not in cut for name in names(node) - defines(node)}
        cut_names = {name for node in cut for name in names(node)}
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
    """Whether a statement at module level assigns one of STATED or does something with it. Definitions do not."""
    return not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and bool(STATED & names(node))


def names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def defines(node: ast.stmt) -> set[str]:
    """The names that a statement binds to a value or a function; none for a class and an import, which stay."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name for target in targets for name in names(target)}


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
