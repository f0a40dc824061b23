"""Blocks around launches that do nothing for a recorded call: steps of the normal form. Pure syntax.

Context managers that only choose a device, and exception handlers that refuse.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import dotted, imported_paths
from kernelwright.source.edits import Edit

CONTEXT_MANAGER = "contextlib.contextmanager"

DEVICE = ("torch.cuda.", "torch.device")
"""How the names begin of what chooses a device, or asks about one."""

GUARD = "torch.cuda._DeviceGuard"


def guards(tree: ast.Module) -> list[Edit]:
    """Calls in `with` of the module's own context managers that only choose a device, as `torch.no_grad()`, which every
    recorded call is in; and the device guard of generated code as the public one."""
    paths = imported_paths(tree)
    torch = next((name for name, path in paths.items() if path == "torch"), None)
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
    """Whether it is a context manager without a launch, an assignment to anything but names, and a call of the
    framework that does not choose a device."""
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


def handlers(tree: ast.Module) -> list[Edit]:
    """`try` without what it begins, where each handler only raises: the failure is seen either way."""
    return [
        Edit(node, node, _unindented(node))
        for top in tree.body
        for node in ast.walk(top)
        if isinstance(node, ast.Try) and not node.finalbody and node.handlers
        and all(isinstance(handler.body[0], ast.Raise) for handler in node.handlers)
    ]  # fmt: skip


def _unindented(node: ast.Try) -> str:
    """The statements of its body, in place of it."""
    lines = ast.unparse(ast.Module([*node.body, *node.orelse], [])).splitlines()
    return "\n".join([lines[0], *(" " * node.col_offset + line for line in lines[1:])])
