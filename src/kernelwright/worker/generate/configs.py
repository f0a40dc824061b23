"""The configs of a generated kernel: blocks, num_warps and num_stages.

Each kernel begins with the config that Inductor most likely uses; the others are tried after it.
"""

from __future__ import annotations

import ast
import copy
from contextlib import suppress
from typing import Any

import torch
from torch._inductor.runtime import hints, triton_heuristics

from kernelwright.devices.first_configs import Rows, changes_for, least_warps
from kernelwright.worker.generate.replacing import replaced

Config = dict[str, int]


def listed_configs(name: str, source: str) -> tuple[Config, ...]:
    """Of a kernel: first the middle one, by XBLOCK, of the configs that Inductor would time; then a measured one, if
    there is one for such kernels; then the others of Inductor's. Empty if its decorator lists none."""
    kernel = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == name)
    decorator = next((one for one in kernel.decorator_list if isinstance(one, ast.Call)), None)
    if decorator is None or not isinstance(decorator.func, ast.Attribute):
        return ()
    names = {**vars(hints), "__file__": "kernel.py"}
    # eval is safe here: Inductor generated the text.
    given = {str(one.arg): eval(ast.unparse(one.value), dict(names)) for one in decorator.keywords}
    if not (listed := sorted(_configs(decorator.func.attr, given), key=lambda one: int(one.kwargs.get("XBLOCK", 1)))):
        return ()
    length = given.get("size_hints", {}).get("r0_", 0)  # a template has none
    rows = Rows(
        length, length if decorator.func.attr == "persistent_reduction" else 0,
        is_read_twice=source.count("for r0_offset in") > 1,
        is_strided=given.get("reduction_hint") is not hints.ReductionHint.INNER,
        loads=source.count("tl.load("),
    )  # fmt: skip
    likely, least = listed.pop(len(listed) // 2), least_warps(rows)
    first, *others = [
        {**one.kwargs, "num_warps": max(one.num_warps, least), "num_stages": one.num_stages}
        for one in (likely, *listed)
    ]
    gpu: Any = torch.cuda.get_device_properties(0)
    changes = changes_for(rows, first, gpu.multi_processor_count, gpu.L2_cache_size, gpu.shared_memory_per_block_optin)
    return (first, *({**first, **one} for one in changes), *others)


def _configs(heuristic: str, given: dict[str, Any]) -> list[Any]:
    """The configs of a kernel with this decorator; empty for a template's, which takes other arguments."""
    seen: list[Any] = []
    listing = lambda own: lambda size_hints, configs, **others: seen.extend(configs)  # noqa: E731
    with replaced((triton_heuristics, "cached_autotune", listing)), suppress(TypeError):
        getattr(triton_heuristics, heuristic)(**copy.deepcopy(given))
    return seen
