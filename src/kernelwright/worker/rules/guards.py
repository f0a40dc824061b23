"""Device guards and exception handlers around launches: steps of the normal form that remove them. Pure syntax.

They do nothing in a recorded call: the context managers only choose a device, and the handlers only raise.
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


def handlers(tree: ast.Module) -> list[Edit]:
    """Replace a `try` statement by its body if each handler begins with `raise`: the failure is visible either way."""
    return [
        Edit(node, node, _unindented(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and not node.finalbody and node.handlers
        and all(isinstance(handler.body[0], ast.Raise) for handler in node.handlers)
    ]  # fmt: skip


def _unindented(node: ast.Try) -> str:
    """The statements of the body and of the `else`, indented as the `try` was."""
    lines = ast.unparse(ast.Module([*node.body, *node.orelse], [])).splitlines()
    return "\n".join([lines[0], *(" " * node.col_offset + line for line in lines[1:])])
