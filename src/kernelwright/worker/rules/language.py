"""The names of Triton's language that kernels may use: an allow-list, read from `language.toml`.

A name that is not in that file is refused. Names that a newer Triton adds are therefore refused until the file lists
them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Groups = dict[str, str]
"""Groups of names: a text that describes the group, and its names separated by spaces."""

UNDECIDED = "no supported Triton has it, or it is not on the list of names that kernels may use"


@dataclass(frozen=True)
class Decisions:
    """The decision for each name of a module. allowed: may be used in any way. types: may be named in `isinstance` and
    in annotations only. refused: may not be named, with the reason."""

    allowed: frozenset[str]
    types: frozenset[str]
    refused: dict[str, str]

    @property
    def every(self) -> frozenset[str]:
        return self.allowed | self.types | self.refused.keys()


def _names(groups: Groups) -> frozenset[str]:
    return frozenset(name for names in groups.values() for name in names.split())


def _decisions(table: dict[str, Groups]) -> Decisions:
    refused = {name: why for why, names in table.get("refused", {}).items() for name in names.split()}
    return Decisions(_names(table.get("allowed", {})), _names(table.get("types", {})), refused)


_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

MODULES: dict[str, Decisions] = {
    module: _decisions(table) for table in _TABLES["modules"] for module in table["names"]
}  # fmt: skip
"""Modules that kernels may import. None of the names allowed in them runs host code, reads files or keeps state."""

CONSTANT_ATTRIBUTES = _names(_TABLES["values"]["constants"])
"""Attributes that kernels may read from a name of Triton, from a kernel and from a constant."""

VALUE_ATTRIBUTES = CONSTANT_ATTRIBUTES | _names(_TABLES["values"]["allowed"])
"""Attributes that kernels may read from a value: methods of tensors, descriptors, dtypes and strings. Others are
refused, because an argument may also be another kernel, whose attributes lead to the compiler."""

REFUSED_ATTRIBUTES = _names(_TABLES["values"]["refused"])
"""Attributes of values that kernels may not read. Only a test uses this: every attribute has to have a decision."""


def why_refused(module: str, name: str) -> str:
    """Why kernels may not use `name` of an allowed module; "" if they may."""
    decisions = MODULES[module]
    if f"{module}.{name}" in MODULES or name in decisions.allowed | decisions.types:
        return ""
    return decisions.refused.get(name, UNDECIDED)


def is_type(path: str) -> bool:
    """Whether kernels may use the full name `path` only in `isinstance` and in annotations."""
    module, _, name = path.rpartition(".")
    return module in MODULES and name in MODULES[module].types
