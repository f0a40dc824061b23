"""Names in the installed Triton, and parts of installed packages, read from their files without an import."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings


def is_installed(module: str, name: str | None = None) -> bool:
    """Whether a module of Triton is installed and has `name`. Always True for modules of other packages."""
    if module.partition(".")[0] != "triton":
        return True
    known = _names_of(module)
    return known is not None and (
        name is None or name == "*" or name in known or _names_of(f"{module}.{name}") is not None
    )


def is_part(module: str, name: str) -> bool:
    """Whether `name` is a module in `module`, which has it only where something imported it."""
    file = _file_of(f"{module}.{name}")
    return file is not None and file.exists()


@functools.cache
def _names_of(module: str) -> frozenset[str] | None:
    """The names that a module's file binds; None if there is no file that parses."""
    file = _file_of(module)
    try:
        tree = syntax.parse(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, SyntaxError, ValueError):
        return None
    return None if tree is None else frozenset(binding.name for binding in bindings(tree))


def _file_of(module: str) -> Path | None:
    """The file of a module by its name, which need not exist; None if the package is not installed."""
    top, *parts = module.split(".")
    specs = (finder.find_spec(top, None) for finder in sys.meta_path)  # whatever stands in for it in `sys.modules`
    found = next((spec for spec in specs if spec is not None), None)
    if found is None or not found.submodule_search_locations:
        return None
    place = Path(next(iter(found.submodule_search_locations)), *parts)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
