"""Comparison of the code generated for several sizes: one module, with named holes in place of numbers that differ."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.reading import Module

Values = tuple[int | float, ...]
"""The values of a number, one per compared size."""

N = TypeVar("N", bound=ast.AST)


class Holes:
    """The holes of one comparison. Numbers with equal values share one hole."""

    def __init__(self) -> None:
        self.values: dict[str, Values] = {}

    def name(self, values: Values) -> str:
        known = next((name for name, have in self.values.items() if _same(have, values)), None)
        if known is None:
            known = f"hole_{len(self.values)}"
            self.values[known] = values
        return known

    def at(self, node: ast.expr, size: int) -> int | float:
        """The value of an expression at one of the sizes. Raises `NotConverted` where it is not a number."""
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.values[name][size]
            case ast.Constant(value=int(value) | float(value)):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.at(operand, size)
            case _:
                raise NotConverted(f"sizes that are not numbers: {ast.unparse(node)[:120]}")


def structure(module: Module) -> str:
    """A key that is equal for modules that differ only in numbers."""
    trees = [tree for kernel in module.kernels.values() for tree in (kernel.main, *kernel.functions, *kernel.grid)]
    texts = [
        ast.dump(_Numberless().visit(copy.deepcopy(tree))) for tree in (*trees, *module.steps, *module.shapes.values())
    ]
    return "\n".join([*module.kernels, *module.arguments, *texts])


def compared(modules: Sequence[Module]) -> tuple[Module, Holes]:
    """One module with holes. Raises `NotConverted` where the modules differ in more than numbers."""
    first, holes = modules[0], Holes()
    for other in modules[1:]:
        if (list(first.kernels), first.arguments) != (list(other.kernels), other.arguments):
            raise NotConverted("Inductor fuses the operations differently at other sizes")
    kernels = {}
    for name, kernel in first.kernels.items():
        same = [one.kernels[name] for one in modules]
        if len({one.grid_type for one in same}) > 1:
            raise NotConverted(f"{name} has other grids at other sizes")
        main = merged([one.main for one in same], holes)
        functions = tuple(merged(list(each), holes) for each in zip(*[one.functions for one in same], strict=True))
        if len({len(one.grid) for one in same}) > 1:
            raise NotConverted(f"{name} has other grids at other sizes")
        grid = tuple(merged(list(each), holes) for each in zip(*[one.grid for one in same], strict=True))
        is_wide = all(one.is_wide for one in same)
        kernels[name] = replace(kernel, main=main, functions=functions, is_wide=is_wide, grid=grid)
    if len({(len(one.steps), tuple(one.shapes)) for one in modules}) > 1:
        raise NotConverted("the host code has other steps at other sizes")
    shapes = {name: merged([one.shapes[name] for one in modules], holes) for name in first.shapes}
    steps = tuple(merged(list(each), holes) for each in zip(*[one.steps for one in modules], strict=True))
    return Module(kernels, first.arguments, steps, shapes), holes


def merged(nodes: Sequence[N], holes: Holes) -> N:
    """One node for all sizes. Decorators, which contain hints for one size, are removed; cache hints are those of the
    first."""
    made: N = _merge(nodes, holes)
    return ast.fix_missing_locations(made)


def _merge(nodes: Sequence[Any], holes: Holes) -> Any:
    first = nodes[0]
    if any(type(node) is not type(first) for node in nodes):
        raise NotConverted(f"at other sizes the generated code differs: {_shown(first)}")
    match first:
        case ast.Constant() if any(not _same_value(node.value, first.value) for node in nodes):
            values = [node.value for node in nodes]
            if all(type(value) is int for value in values) or all(type(value) is float for value in values):
                return ast.Name(holes.name(tuple(values)), ast.Load())
            raise NotConverted(f"at other sizes the generated code differs: {_shown(first)}")
        case ast.AST():
            nodes = [_without_hints(node) for node in nodes]
            made = copy.copy(first)
            for field in first._fields:
                setattr(made, field, _merge([getattr(node, field, None) for node in nodes], holes))
            if isinstance(first, ast.Call) and isinstance(made, ast.Call):
                made.keywords += [one for one in first.keywords if one.arg in HINTS]
            return made
        case list():
            if len({len(node) for node in nodes}) > 1:
                raise NotConverted(f"at other sizes the generated code differs: {_shown(first)}")
            return [_merge(each, holes) for each in zip(*nodes, strict=True)]
        case _:
            pass
    if any(node != first for node in nodes):
        raise NotConverted(f"at other sizes the generated code differs: {first} is {nodes[-1]}")
    return first


HINTS = ("eviction_policy", "cache_modifier")


def _without_hints(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.Call):
        return ast.Call(node.func, node.args, [one for one in node.keywords if one.arg not in HINTS])
    if isinstance(node, ast.FunctionDef):
        plain = copy.copy(node)
        plain.decorator_list = []
        return plain
    return node


class _Numberless(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(type(node.value).__name__) if type(node.value) in (int, float) else node

    def visit(self, node: ast.AST) -> Any:
        return super().visit(_without_hints(node))


def _same_value(one: object, other: object) -> bool:
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _same(one: Values, other: Values) -> bool:
    return all(_same_value(a, b) for a, b in zip(one, other, strict=True))


def _shown(node: Any) -> str:
    shown = ast.unparse(node) if isinstance(node, ast.AST) else "; ".join(_shown(one) for one in node[:3])
    return " ".join(shown.split())[:100]
