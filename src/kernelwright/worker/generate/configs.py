"""The configs of a generated kernel: blocks, num_warps and num_stages.

Each kernel begins with the config that Inductor most likely uses; the others are tried after it.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

import torch
from torch._inductor.runtime import hints, triton_heuristics

from kernelwright.devices.first_configs import Rows, changes_for, least_warps

Config = dict[str, int]


def listed_configs(name: str, source: str) -> tuple[Config, ...]:
    """Of a kernel: first the middle one, by XBLOCK, of the configs that Inductor would time; then a measured one, if
    there is one for such kernels; then the others of Inductor's."""
    if not (listed := sorted(_configs(name, source), key=_along_x)):
        return ()
    rows, gpu = _rows(source), torch.cuda.get_device_properties(0)
    likely, least = listed.pop(len(listed) // 2), least_warps(rows)
    first, *others = [
        {**one.kwargs, "num_warps": max(one.num_warps, least), "num_stages": one.num_stages}
        for one in (likely, *listed)
    ]
    changes = changes_for(rows, first, gpu.multi_processor_count, gpu.L2_cache_size)
    return (first, *({**first, **one} for one in changes), *others)


def _rows(source: str) -> Rows:
    """The rows of a generated kernel; of length 0 where it reduces none."""
    length = re.search(r"'r0_': (\d+)", source)
    in_registers = re.search(r"persistent_reduction\(\s*size_hints=\{.*?'r0_': (\d+)", source)
    return Rows(
        int(length[1]) if length else 0, int(in_registers[1]) if in_registers else 0,
        is_read_twice=source.count("for r0_offset in") > 1, is_strided="ReductionHint.INNER" not in source,
    )  # fmt: skip


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
