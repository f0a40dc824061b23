"""Finds the caller's own files that a problem imports, to copy them with their package path.

A file is the caller's own if it is neither in Python's standard library nor in a folder of installed packages. Imports
in the text of such files are followed.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.textfile import read_text

INSTALLED = ("site-packages", "dist-packages")
NEVER = ("torch", "triton", "numpy", "kernelwright")
"""Packages that every worker has. They are never copied, even if they were built in a folder of the user."""


def own_sources(modules: Iterable[str]) -> dict[str, str]:
    """Texts by path in `sources/`: the caller's own files among these modules and all modules that they import."""
    texts: dict[str, str] = {}
    todo = [name for module in modules for name in _with_parents(module)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        module = sys.modules.get(name)
        if name in seen or module is None:
            continue
        seen.add(name)
        file = _own_file(name, module)
        if file is None:
            continue
        try:
            text = read_text(file)
            tree = ast.parse(text)
        except (OSError, ValueError, SyntaxError) as error:
            raise ProblemError(f"{file}, which module {name} is, cannot be copied: {error}") from error
        path = name.replace(".", "/")
        is_package = hasattr(module, "__path__")
        texts[f"{path}/__init__.py" if is_package else f"{path}.py"] = text
        todo += _imported(tree, name if is_package else name.rpartition(".")[0])
    return dict(sorted(texts.items()))


def _own_file(name: str, module: types.ModuleType) -> Path | None:
    """The module's file if it is the caller's own; None for installed and builtin modules and for namespace packages.
    Raises `ProblemError` for a compiled file."""
    file = getattr(module, "__file__", None)
    if not file or name == "__main__" or name.partition(".")[0] in NEVER:
        return None
    path = Path(file).resolve()
    library = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib")]
    if set(path.parts) & set(INSTALLED) or any(folder in path.parents for folder in library):
        return None
    if path.suffix != ".py":
        raise ProblemError(f"{path}, which module {name} is, is compiled and cannot be copied", "install its package")
    return path


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of modules that the text may import, with parent packages. package: the base of its relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from _with_parents(base)
            for alias in node.names:
                yield f"{base}.{alias.name}"


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]
