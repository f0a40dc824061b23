"""What the files of this checkout import, without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def needed(file: Path, nested: bool) -> Iterator[Path]:
    """A file, the files of tests/ and src/ that it imports, and what these import. nested: in functions as well."""
    todo, seen = [file], {file}
    while todo:
        yield (one := todo.pop())
        for name in imported(one, nested):
            found = file_of(name)
            if found is not None and found not in seen:
                seen.add(found)
                todo.append(found)
