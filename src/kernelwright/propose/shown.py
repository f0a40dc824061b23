"""A problem's source as the writer of candidates may see it: without its list of cases. Pure.

The cases that may be known are in a table of the prompt. Held-out sizes stay unknown, since a kernel
made to fit them would confirm nothing; so every statement about CASES goes, whatever it says.
"""

from __future__ import annotations

import ast
import re

from kernelwright.source import parse as syntax

REPLACEMENT = "# CASES: see the table below."


def shown_source(source: str) -> str:
    """`source` with the module's statements that make or change CASES cut out; as it is where it does not parse."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines = re.split(r"\r\n|\r|\n", source)  # as the parser counts them
    cut = [node for node in tree.body if concerns_cases(node)]
    for index, node in reversed(list(enumerate(cut))):
        lines[node.lineno - 1 : node.end_lineno] = [REPLACEMENT] if index == 0 else []
    return "\n".join(lines) if cut else source


def concerns_cases(node: ast.stmt) -> bool:
    """Whether a statement at module level assigns CASES or does something with it. Definitions do not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(isinstance(part, ast.Name) and part.id == "CASES" for part in ast.walk(node))
