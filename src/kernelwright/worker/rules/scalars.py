"""A step of the normal form: scalars that host code computes by way of a tensor of numbers. Pure syntax.

For example, `torch.tensor(x.shape).prod().item()` is a product of sizes, and needs no tensor.
"""

from __future__ import annotations

import ast

from kernelwright.source.bindings import dotted, imported_name, imported_paths
from kernelwright.source.edits import Edit
from kernelwright.source.kernels import host_code

WITHOUT_A_TENSOR = {"prod": "math.prod", "sum": "sum", "max": "max", "min": "min"}
"""What computes the same of the numbers themselves, by the operator's name in PyTorch."""


def scalars(tree: ast.Module) -> list[Edit]:
    """Replace `torch.tensor(x).prod().item()` and `torch.prod(torch.tensor(x)).item()` by `math.prod(x)`, and the same
    for sums, maxima and minima."""
    paths = imported_paths(tree)
    math = imported_name("math", paths)
    found = []
    for node in (node for top in host_code(tree) for node in ast.walk(top)):
        if isinstance(node, ast.Call) and (taken := _taken(node, paths)):
            operator, values = taken
            function = WITHOUT_A_TENSOR[operator].replace("math", math or "math")
            found.append(Edit(node, node, f"{function}({ast.unparse(values)})"))
    first = next((node for node in tree.body if isinstance(node, ast.Import)), None)
    if found and math is None and first is not None:
        found.append(Edit(first, first, f"import math; {ast.unparse(first)}"))
    return found


def _taken(node: ast.Call, paths: dict[str, str]) -> tuple[str, ast.expr] | None:
    """The operator and the numbers of a call of `item` on the result of an operator on a tensor of numbers."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as reduced, attr="item"), args=[], keywords=[]):
            pass
        case _:
            return None
    match reduced:
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr=operator), args=[], keywords=[]):
            pass
        case ast.Call(func=ast.Attribute(attr=operator) as function, args=[ast.Call() as made], keywords=[]) if (
            dotted(function, paths) == f"torch.{operator}"
        ):
            pass
        case _:
            return None
    if operator not in WITHOUT_A_TENSOR or dotted(made.func, paths) != "torch.tensor" or len(made.args) != 1:
        return None
    return (operator, made.args[0]) if all(one.arg == "device" for one in made.keywords) else None
