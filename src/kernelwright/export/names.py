"""Names of exported packages and functions: a problem's name as an identifier, and which package names are valid."""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

OTHERS = frozenset({"torch", "functorch", "torchgen", "triton", "numpy", "kernelwright", "pytest", "pip", "hatchling"})
"""Modules that a package with the same name would hide or overwrite, besides those of Python's standard library."""

STATIC = (
    "dispatch", "op", "by_reference", "kernel_host", "launch", "wins", "module", "instance", "check", "benchmark",
    "warm",
)  # fmt: skip
"""Modules with the same text in every package."""

SHARED = "parameter_names"
"""A module that is a copy of the one in `kernelwright.source`."""

OF_A_PAIR = ("outline", "training")
"""Additional modules of a package whose candidate has a backward; its `op` also has another text."""

MADE = ("arguments", "forward", "kernel", "reference")
"""Modules that are generated for each package."""

OWN = frozenset({"explain", "patch", "unpatch", *STATIC, SHARED, *OF_A_PAIR, *MADE})
"""Names that every package uses, besides the name of the problem's function."""

BESIDE = "tests"
"""The folder next to the package's folder."""


def identifier(name: str) -> str:
    """`name` as a Python identifier in ASCII, as torch requires for an operator's name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    text = re.sub(r"\W+", "_", plain).strip("_").lower() or "kernel"
    return f"k_{text}" if text[0].isdigit() or keyword.iskeyword(text) or text in OWN else text


def unfit(package: str) -> str | None:
    """Why a package cannot or should not be named `package`; None if it can."""
    if not (package.isascii() and package.isidentifier()):
        return "it is not an identifier in ASCII"
    if keyword.iskeyword(package):
        return "it is a keyword of Python"
    if package.lower() in sys.stdlib_module_names:
        return "it is a module of Python's standard library"
    if package.lower() in OTHERS or package.lower() == BESIDE:
        return "it would hide or overwrite another package"
    return None
