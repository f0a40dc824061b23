"""Memory that host code allocates on the CPU and moves: the rule, and the step of the normal form that mends it. Pure
syntax."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelwright.source.bindings import dotted, imported_paths
from kernelwright.source.edits import Edit

ALLOCATES = frozenset({"torch.empty", "torch.zeros", "torch.ones", "torch.full"})


def moved(tree: ast.Module) -> list[Edit]:
    """Replace `torch.empty(4).to(x.device)` by `torch.empty(4, device=x.device)`."""
    paths = imported_paths(tree)
    found = ((node, on_device(node, paths)) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [Edit(node, node, ast.unparse(made)) for node, made in found if made is not None]


def on_device(node: ast.Call, paths: Mapping[str, str]) -> ast.Call | None:
    """A call that allocates on the CPU and moves, as one that allocates on the device; None for other calls."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="cuda"), args=[], keywords=[]):
            device: ast.expr = ast.Constant("cuda")
        case (
            ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="to"), args=[device], keywords=[])
            | ast.Call(
                func=ast.Attribute(value=ast.Call() as made, attr="to"),
                args=[],
                keywords=[ast.keyword(arg="device", value=device)],
            )
        ) if _is_device(device):
            pass
        case _:
            return None
    if dotted(made.func, paths) not in ALLOCATES or any(one.arg in (None, "device", "out") for one in made.keywords):
        return None
    return ast.Call(made.func, made.args, [*made.keywords, ast.keyword("device", device)])


def _is_device(node: ast.expr) -> bool:
    """Whether an argument of `.to` is a device, as far as its text shows."""
    match node:
        case ast.Attribute(attr="device") | ast.Name(id="device"):
            return True
        case ast.Constant(value=str(name)):
            return name.startswith("cuda")
        case _:
            return False
