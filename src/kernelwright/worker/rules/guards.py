"""Device guards around launches: a step of the normal form that removes them. Pure syntax.

They do nothing in a recorded call: the context managers only choose a device.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import dotted, imported_name, imported_paths
from kernelwright.source.edits import Edit

CONTEXT_MANAGER = "contextlib.contextmanager"

DEVICE = ("torch.cuda.", "torch.device")
"""Prefixes of the names that choose a device or ask about one."""

GUARD = "torch.cuda._DeviceGuard"


def guards(tree: ast.Module) -> list[Edit]:
    """Replace the module's own context managers that only choose a device by `torch.no_grad()`, which is active in
    every recorded call. Replace GUARD (in generated code) by the public `torch.cuda.device`."""
    paths = imported_paths(tree)
    torch = imported_name("torch", paths)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _only_chooses(node, paths)}
    entered = [item.context_expr for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items
               if item.optional_vars is None]  # fmt: skip
    found = [
        Edit(one, one, f"{torch}.no_grad()")
        for one in entered
        if torch and isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in own
    ]
    return found + [
        Edit(node, node, f"{torch}.cuda.device")
        for node in ast.walk(tree)
        if torch and isinstance(node, ast.Attribute) and dotted(node, paths) == GUARD
    ]


def _only_chooses(node: ast.FunctionDef, paths: dict[str, str]) -> bool:
    """Whether `node` is a context manager that launches nothing, assigns to names only, and calls the framework only to
    choose a device."""
    if [dotted(one, paths) for one in node.decorator_list] != [CONTEXT_MANAGER]:
        return False
    inside = [part for statement in node.body for part in ast.walk(statement)]
    of_torch = [path for part in inside if isinstance(part, ast.Call)
                if (path := dotted(part.func, paths) or "").startswith("torch.")]  # fmt: skip
    return all(path.startswith(DEVICE) for path in of_torch) and not any(
        isinstance(part, ast.Subscript | ast.Try | ast.Global | ast.Nonlocal | ast.YieldFrom)
        or (isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))
        or (isinstance(part, ast.Yield) and part.value is not None)
        for part in inside
    )
