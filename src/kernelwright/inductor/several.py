"""Several captures in one candidate: host code that chooses the one for the numbers that are constants in each."""

from __future__ import annotations

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
    return sides | dtypes


def given(tensors: Mapping[str, Any]) -> dict[str, str]:
    """Sides and dtypes of the arguments of a case, by the expressions of `constants`."""
    found = {f"{as_argument(name)}.dtype": str(one.dtype) for name, one in tensors.items()}
    return found | {f"{as_argument(name)}.shape[{place}]": str(side) for name, one in tensors.items()
                    for place, side in enumerate(one.shape)}  # fmt: skip


def serves(capture: Capture, tensors: Mapping[str, Any]) -> bool:
    """Whether these tensors, the arguments of a case, have what is constant in a capture."""
    known = given(tensors)
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
