"""Signatures that find problems with the same operators, independent of their sizes, dtypes and names.

A signature is made from the inputs and the lines of `ProblemInfo.operators`. A dimension of one element is kept in it,
because it distinguishes a product with a vector from others. An equal signature is only a reason to try a kernel: the
two problems may still need different kernels, and the judge decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.model import ProblemInfo, TensorSpec
from kernelwright.textfile import read_text

FILE = "operators.txt"
"""File next to a problem of the gallery with its inputs and operators, so that comparing needs no loading."""

TAKE_SIZES = frozenset({
    "view", "_unsafe_view", "reshape", "_reshape_alias", "expand", "repeat", "as_strided", "new_zeros", "new_ones",
    "new_full", "new_empty", "new_empty_strided", "empty_strided", "zeros", "ones", "empty", "full", "rand", "randn",
    "sum_to_size", "split_with_sizes", "unflatten", "native_layer_norm", "layer_norm", "rms_norm", "_fused_rms_norm",
})  # fmt: skip
"""Operators whose lists of numbers are sizes. Lists of other operators are dimensions, paddings, strides or windows."""

GIVEN = re.compile(r"(?P<name>\w+): (?P<shape>\([\d, ]*\)) \w+")
LINE = re.compile(r"(?P<left>.+?) = (?P<name>\w[\w.]*)\((?P<given>.*)\) -> (?P<made>.*)")
LIST_OF_NUMBERS = re.compile(r"\[[-\d, ]*\]")
CONSTANT = re.compile(r"a constant (\([\d, ]*\)) \w+")
WORD = re.compile(r"(?<![\w.])(?:%\d+|[A-Za-z_]\w*)(?![\w.=])")
SHAPE = re.compile(r"(\([\d, ]*\)) \w+")
NO_NAMES = frozenset({"True", "False", "None", "inf", "nan", "torch"})


def described(info: ProblemInfo) -> tuple[str, ...]:
    """The input tensors and the operators of a problem, a line each, in the format of `FILE`; empty if the operators
    are not known."""
    case = next((one for one in info.cases if one.case.timed), None)
    if case is None or not info.operators:
        return ()
    named = [*zip(case.input_names, case.inputs, strict=False), *case.parameters.items()]
    given = [f"{name.replace('.', '_')}: {_shape(spec)}" for name, spec in named if isinstance(spec, TensorSpec)]
    return (*given, *info.operators)


def _shape(spec: TensorSpec) -> str:
    comma = "," if len(spec.shape) == 1 else ""
    return f"({', '.join(map(str, spec.shape))}{comma}) {spec.dtype}"


def signature(lines: Sequence[str]) -> tuple[str, ...] | None:
    """The lines of `described` without sizes and dtypes, with tensors numbered in the order of appearance; None if
    there are none or one cannot be read."""
    names: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        word = found[0]
        return word if word in NO_NAMES else names.setdefault(word, f"t{len(names)}")

    made = []
    for line in lines:
        if line.startswith("return "):
            made.append("return " + WORD.sub(numbered, line.removeprefix("return ")))
        elif (given := GIVEN.fullmatch(line)) is not None:
            made.append(f"{WORD.sub(numbered, given['name'])}: {_without_sizes(given['shape'])}")
        elif (found := LINE.fullmatch(line)) is not None:
            arguments = CONSTANT.sub(lambda one: _without_sizes(one[1]), re.sub(r"torch\.\w+", "torch", found["given"]))
            if found["name"].partition(".")[0] in TAKE_SIZES:
                arguments = LIST_OF_NUMBERS.sub(lambda one: _without_sizes(one[0]), arguments)
            shapes = ", ".join(_without_sizes(shape) for shape in SHAPE.findall(found["made"]))
            left = WORD.sub(numbered, found["left"])
            made.append(f"{left} = {found['name']}({WORD.sub(numbered, arguments)}) -> {shapes}")
        else:
            return None
    return tuple(made) or None


def _without_sizes(numbers: str) -> str:
    """A shape or a list of sizes, with # for each size other than -1, 0 and 1."""
    return re.sub(r"-?\d+", lambda one: one[0] if one[0] in ("-1", "0", "1") else "#", numbers)


def written_operators(folder: Path) -> tuple[str, ...] | None:
    """The lines of `FILE` in the problem's folder; None if there is no such file."""
    file = folder / FILE
    return tuple(read_text(file).splitlines()) if file.is_file() else None
