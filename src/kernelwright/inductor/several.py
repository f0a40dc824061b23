"""Several captures in one candidate: host code that chooses the one for the numbers that are constants in each."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from kernelwright.inductor.writing import refusal
from kernelwright.model import Capture
from kernelwright.source.parameter_names import as_argument

HALF = ("float16", "bfloat16")
"""Dtypes in whose place a capture serves others."""


def constants(capture: Capture) -> dict[str, str]:
    """What a capture does not serve another of: sides of arguments and their dtypes, by their expressions."""
    specs = dict(zip(capture.names, capture.tensors, strict=True))
    shapes = capture.sizes.shapes if capture.sizes else [tuple(map(str, one.shape)) for one in capture.tensors]
    sides = {f"{as_argument(name)}.shape[{place}]": side for name, shape in zip(capture.names, shapes, strict=True)
             for place, side in enumerate(shape) if side.isdigit()}  # fmt: skip
    dtypes = {f"{as_argument(name)}.dtype": f"torch.{one.dtype}" for name, one in specs.items()
              if one.dtype not in HALF and name not in capture.pairs}  # fmt: skip
    return sides | dtypes | {text: one for text, one in capture.numbers.items() if is_literal(one)}


def is_literal(text: str) -> bool:
    return not any(isinstance(one, ast.Name) for one in ast.walk(ast.parse(text)))


def reads(structure: Any, read: str = "") -> list[str]:
    """Expressions that read the leaves of nested arguments, in order. structure: of all arguments, by name."""
    if isinstance(structure, int):
        return [read]
    items = structure.items() if isinstance(structure, dict) else enumerate(structure)
    return [leaf for key, one in items for leaf in reads(one, f"{read}[{key!r}]" if read else str(key))]


def given(tensors: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, str]:
    """Sides, dtypes and numbers among the arguments of a case, by the expressions of `constants`."""
    found = {f"{as_argument(name)}.dtype": str(one.dtype) for name, one in tensors.items()}
    found |= {text: repr(one) for text, one in numbers.items()}
    return found | {f"{as_argument(name)}.shape[{place}]": str(side) for name, one in tensors.items()
                    for place, side in enumerate(one.shape)}  # fmt: skip


def serves(capture: Capture, known: Mapping[str, str]) -> bool:
    """Whether what is `given` in a case has what is constant in a capture."""
    return all(known.get(text, value) == value for text, value in constants(capture).items())


def choice(captures: Sequence[Capture], calls: Sequence[str]) -> list[str]:
    """Host code that returns the call for the first capture whose constants the arguments have, else the last call,
    which refuses what it does not serve. calls: one for each capture."""
    every, pairs = [*map(constants, captures)], {*combinations(range(len(captures)), 2)}
    read: list[str] = []
    for text in dict.fromkeys(text for one in every for text in one):
        apart = {(a, b) for a, b in pairs if text in every[a] and every[b].get(text) != every[a][text]}
        read, pairs = [*read, text] if apart else read, pairs - apart
    ranks = {
        as_argument(name): len(one.shape) for name, one in zip(captures[0].names, captures[0].tensors, strict=True)
    }
    named = [name for name in ranks if any(text.startswith(f"{name}.shape[") for text in read)]
    lines = [line for name in named for line in
             refusal(f"{name}.dim() != {ranks[name]}", f"{name} needs {ranks[name]} dimensions")]  # fmt: skip
    for one, call in zip(every[:-1], calls, strict=False):
        lines += [f"if {' and '.join(f'{text} == {one[text]}' for text in read if text in one)}:", f"    return {call}"]
    return [*lines, f"return {calls[-1]}"]
