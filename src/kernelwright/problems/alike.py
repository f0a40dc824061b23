"""Whether two problems call the same operators, whatever their sizes, dtypes and names.

What is compared are the lines of `ProblemInfo.operators`. Alike is a reason to try a kernel and no more: two problems
that are alike may still want different kernels, which the judge finds out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.textfile import read_text

FILE = "operators.txt"
"""Beside a problem of the gallery: its operators, so that it need not be loaded to be compared."""

LINE = re.compile(r"(?P<left>.+?) = (?P<name>\w[\w.]*)\((?P<given>.*)\) -> (?P<made>.*)")
LIST_OF_NUMBERS = re.compile(r"\[[-\d, ]*\]")
CONSTANT = re.compile(r"a constant \([\d, ]*\) \w+")
WORD = re.compile(r"(?<![\w.])(?:%\d+|[A-Za-z_]\w*)(?![\w.=])")
SHAPE = re.compile(r"\(([\d, ]*)\) \w+")
NO_NAMES = frozenset({"True", "False", "None", "inf", "nan", "torch"})


def signature(operators: Sequence[str]) -> tuple[str, ...] | None:
    """The operators without sizes and dtypes, tensors numbered as they come up; None where not all are known."""
    names: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        word = found[0]
        return word if word in NO_NAMES else names.setdefault(word, f"t{len(names)}")

    lines = []
    for line in operators:
        if line.startswith("return "):
            lines.append("return " + WORD.sub(numbered, line.removeprefix("return ")))
            continue
        if (found := LINE.fullmatch(line)) is None:
            return None
        given = CONSTANT.sub("#", LIST_OF_NUMBERS.sub("[#]", found["given"]))
        given = re.sub(r"torch\.\w+", "torch", given)
        ranks = ",".join(str(len(shape.replace(",", " ").split())) for shape in SHAPE.findall(found["made"]))
        lines.append(f"{WORD.sub(numbered, found['left'])} = {found['name']}({WORD.sub(numbered, given)}) -> {ranks}")
    return tuple(lines) or None


def written_operators(folder: Path) -> tuple[str, ...] | None:
    """The operators that are written down beside the problem in `folder`; None where there are none."""
    file = folder / FILE
    return tuple(read_text(file).splitlines()) if file.is_file() else None
