"""What the files of this checkout import, without importing them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ROOTS = (TESTS, TESTS.parent / "src")
"""Where imports are followed to."""
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of a statement that hold statements. An import is in no expression, and most nodes are in expressions."""


@cache
def imported(file: Path, nested: bool) -> frozenset[str]:
    """Full names that a file imports. nested: in functions as well."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif nested or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            todo += [] if checked else [one for name in BLOCKS for one in getattr(node, name, ())]
    return frozenset(found)


@cache
def file_of(name: str) -> Path | None:
    """The file of a module of tests/ or src/; None for any other name."""
    for root in ROOTS:
        path = root.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def needed(file: Path) -> frozenset[Path]:
    """The files of tests/ and src/ that a file imports, in functions too, and what these import."""
    found, todo = {file}, [file]
    while todo:
        for name in imported(todo.pop(), nested=True):
            new = file_of(name)
            if new is not None and new not in found:
                found.add(new)
                todo.append(new)
    return frozenset(found)
