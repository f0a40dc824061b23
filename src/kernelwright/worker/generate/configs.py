"""The configs of a generated kernel: blocks, num_warps and num_stages.

Each kernel begins with the config that Inductor most likely uses; the others are tried after it.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

from torch._inductor.runtime import hints, triton_heuristics

Config = dict[str, int]

MOST_WARPS, IN_WARP = 32, 1024
"""Warps for a row in one piece: 32 numbers a thread, as far as a block has that many threads."""

SHORT = {"R0_BLOCK": 1024, "num_warps": 4}
"""For a loop over the blocks of a row. Compared with Inductor's choice (one row, R0_BLOCK 2048, 16 warps), cumulative
sums were 1.27 and 1.16 times as fast, a layer norm 1.17, a group norm 1.08, a softmax 1.00, and norms, which `LONG`
serves, 0.77. All figures here: H200, torch 2.11, Triton 3.6, kernels of KernelBench's level 1, 2026-11-27."""

LONG = {"R0_BLOCK": 16384, "num_warps": 32}
"""For rows that are read in two loops. With large blocks few rows are read at the same time, so that they stay in the
L2 cache (50 MB) until the second loop. Norms of rows of 65,535 numbers were 1.69 times as fast."""

LONGEST = 65536
"""Numbers in a row that `LONG` is for: 132 multiprocessors with a row each read 35 MB of float32."""

STRIDED = {"XBLOCK": 128, "num_warps": 4}
"""For rows in one piece whose numbers are not adjacent. A mean over 64 channels was 1.29 times as fast as with 8 in a
block."""

MOST_STRIDED = 16384
"""Largest XBLOCK times length of a row for `STRIDED`: a thread holds 128 numbers then, twice as many as measured."""


def listed_configs(name: str, source: str) -> tuple[Config, ...]:
    """Of a kernel: first the middle one, by XBLOCK, of the configs that Inductor would time; then a measured one, if
    there is one for such kernels; then the others of Inductor's."""
    if not (listed := sorted(_configs(name, source), key=_along_x)):
        return ()
    likely, least = listed.pop(len(listed) // 2), min(MOST_WARPS, _in_one_piece(source) // IN_WARP)
    first, *others = [
        {**one.kwargs, "num_warps": max(one.num_warps, least), "num_stages": one.num_stages}
        for one in (likely, *listed)
    ]
    return (first, *({**first, **one} for one in _measured(source, first)), *others)


def _measured(source: str, likely: Config) -> Iterator[Config]:
    """A change of the likely config that was faster for kernels of this kind; nothing for others."""
    row = re.search(r"'r0_': (\d+)", source)
    length = int(row[1]) if row else 0
    if likely.get("XBLOCK") == 1 and likely.get("R0_BLOCK", 0) > SHORT["R0_BLOCK"]:
        is_read_twice = source.count("for r0_offset in") > 1
        yield LONG if is_read_twice and LONG["R0_BLOCK"] < length <= LONGEST else SHORT
    strided = _in_one_piece(source) and "ReductionHint.INNER" not in source
    if strided and likely["XBLOCK"] < STRIDED["XBLOCK"] <= MOST_STRIDED // length:
        yield STRIDED


def _in_one_piece(source: str) -> int:
    """How many numbers of a row a kernel keeps in registers; 0 for one that does not reduce rows in one piece."""
    found = re.search(r"persistent_reduction\(\s*size_hints=\{.*?'r0_': (\d+)", source)
    return int(found[1]) if found else 0


def _along_x(config: Any) -> int:
    return int(config.kwargs.get("XBLOCK", 1))


def _configs(name: str, source: str) -> list[Any]:
    """The configs of one kernel; empty if its decorator lists none."""
    kernel = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == name)
    decorator = next((one for one in kernel.decorator_list if isinstance(one, ast.Call)), None)
    if decorator is None or not isinstance(decorator.func, ast.Attribute):
        return []
    names = {**vars(hints), "__file__": "kernel.py"}
    # eval is safe here: Inductor generated the text.
    given = {str(one.arg): eval(ast.unparse(one.value), dict(names)) for one in decorator.keywords}
    seen: list[Any] = []
    real = triton_heuristics.cached_autotune
    triton_heuristics.cached_autotune = lambda size_hints, configs, **others: seen.extend(configs)
    try:
        getattr(triton_heuristics, decorator.func.attr)(**copy.deepcopy(given))
    except TypeError:  # a template's decorator takes other arguments
        return []
    finally:
        triton_heuristics.cached_autotune = real
    return seen
