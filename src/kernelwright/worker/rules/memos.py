"""Answers of the device that a module keeps in a global name: a step of the normal form, which asks in every call. Pure
syntax."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelwright.source.bindings import bound_values, dotted, imported_paths
from kernelwright.source.edits import Edit

ASKS = ("torch.cuda.get_device_", "triton.runtime.driver.active.")
"""Prefixes of functions that ask the device, and nothing else."""

PARTS = (ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Tuple)


def memos(tree: ast.Module) -> list[Edit]:
    """Replace `if KEPT is None: KEPT = torch.cuda.get_device_capability()` by the assignment, and leave out `global
    KEPT`. KEPT is None at first, nothing else writes it, and only functions with such a line read it."""
    paths, nodes = imported_paths(tree), [*ast.walk(tree)]
    stated = [node for node in nodes if isinstance(node, ast.Global)]
    first = {name for name, values in bound_values(tree).items()
             if len(values) == 1 and isinstance(values[0], ast.Constant) and values[0].value is None}  # fmt: skip
    edits = dict[int, Edit]()
    for name in sorted(first & {one for node in stated for one in node.names}):
        asked = [node for node in nodes if isinstance(node, ast.If) and _asked(node, name, paths)]
        inside = {id(part) for node in nodes if isinstance(node, ast.FunctionDef)
                  and any(one is part for one in asked for part in ast.walk(node))
                  for part in ast.walk(node)}  # fmt: skip
        used = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
        written = [node for node in used if not isinstance(node.ctx, ast.Load)]
        if len(written) == 1 + len(asked) and sum(id(node) not in inside for node in used) == 1:
            edits |= {id(node): Edit(node, node, ast.unparse(node.body[0])) for node in asked}
            edits |= {id(node): Edit(node, node, "pass") for node in stated if node.names == [name]}
    return [*edits.values()]


def _asked(node: ast.If, name: str, paths: Mapping[str, str]) -> bool:
    """Whether a statement asks the device where `name` is None, and stores the answer there."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=one), ops=[ast.Is()], comparators=[ast.Constant(value=None)]),
            body=[ast.Assign(targets=[ast.Name(id=other)], value=value)],
            orelse=[],
        ):
            return one == other == name and _is_answer(value, paths)
        case _:
            return False


def _is_answer(node: ast.expr, paths: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Call):
        return (dotted(node.func, paths) or "").startswith(ASKS)
    parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return isinstance(node, ast.Constant) or (isinstance(node, PARTS) and all(_is_answer(one, paths) for one in parts))
