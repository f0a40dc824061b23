"""Names of what is exported: the problem's in Python, and which of them a package may have.

An exported name never shadows one that exists, in the package or beside it.
"""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

OTHERS = frozenset({"torch", "functorch", "torchgen", "triton", "numpy", "kernelwright", "pytest", "pip", "hatchling"})
"""What a package needs beside Python's own modules, and would hide or write over under such a name."""

STATIC = (
    "dispatch", "op", "by_reference", "kernel_host", "launch", "wins", "module", "instance", "check", "benchmark"
)  # fmt: skip
"""The modules that are the same in every package."""

OF_A_PAIR = ("outline", "training")
"""Those that a package has besides where the candidate brings a backward; `op` is another one there."""

MADE = ("arguments", "forward", "kernel", "reference")
"""Those that are written for each."""

OWN = frozenset({"explain", "patch", "unpatch", *STATIC, *OF_A_PAIR, *MADE})
"""Names in every package, beside that of the problem's function."""

BESIDE = "tests"
"""The folder beside the package's."""


def identifier(name: str) -> str:
    """`name` as a Python identifier in ASCII, which torch asks of an operator's name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    text = re.sub(r"\W+", "_", plain).strip("_").lower() or "kernel"
    return f"k_{text}" if text[0].isdigit() or keyword.iskeyword(text) or text in OWN else text


def unfit(package: str) -> str | None:
    """Why nothing can be imported as `package`, or should not be; None where it can."""
    if not (package.isascii() and package.isidentifier()):
        return "it is no identifier in ASCII"
    if keyword.iskeyword(package):
        return "it is a word of Python's own"
    if package.lower() in sys.stdlib_module_names:
        return "it is a module of Python's own"
    if package.lower() in OTHERS or package.lower() == BESIDE:
        return "it would take the place of another"
    return None
