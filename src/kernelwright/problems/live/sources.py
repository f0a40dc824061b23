"""Finds the caller's own files that a problem imports, to copy them with their package path.

A file is the caller's own if it is neither in Python's standard library nor in a folder of installed packages. Imports
in the text of such files are followed.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import resolve_name
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.textfile import read_text

INSTALLED = ("site-packages", "dist-packages")
NEVER = ("torch", "triton", "numpy", "kernelwright", "__main__")
"""Packages that every worker has. They are never copied, even if they were built in a folder of the user."""


def own_sources(modules: Iterable[str]) -> dict[str, str]:
    """Texts by path in `sources/`: the caller's own files among these modules and all modules that they import."""
    texts: dict[str, str] = {}
    todo = [*modules]
    for name in todo:  # which grows
        parent = name.rpartition(".")[0]
        todo += [parent] if parent and parent not in todo else []
        file = _own_file(name)
        if file is None:
            continue
        try:
            text = read_text(file)
            tree = ast.parse(text)
        except (OSError, ValueError, SyntaxError) as error:
            raise ProblemError(f"{file}, which module {name} is, cannot be copied: {error}") from error
        is_package = hasattr(sys.modules[name], "__path__")
        texts[name.replace(".", "/") + ("/__init__.py" if is_package else ".py")] = text
        todo += {one for one in _imported(tree, name if is_package else parent) if one not in todo}
    return dict(sorted(texts.items()))


def _own_file(name: str) -> Path | None:
    """The module's file if it is the caller's own; None for installed and builtin modules and for namespace packages.
    Raises `ProblemError` for a compiled file."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not file or name.partition(".")[0] in NEVER:
        return None
    path = Path(file).resolve()
    library = [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib")]
    if set(path.parts) & set(INSTALLED) or any(folder in path.parents for folder in library):
        return None
    if path.suffix != ".py":
        raise ProblemError(f"{path}, which module {name} is, is compiled and cannot be copied", "install its package")
    return path


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of modules that the text may import. package: the base of its relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
