"""Restrictions of a space: Python expressions over parameter names, interpreted without running Python code.

Allowed are numbers, names, comparisons, `and or not`, `in` a list, `+ - * / // %`, a conditional, and `min max abs`. So
an untrusted space can do no more than accept or reject a config. Other syntax is refused when the space is created, not
when a config is tested. Names with dots ("matmul_kernel.num_warps") are allowed; parameters whose names are not Python
("autotune:k", "BLOCK#2") cannot be restricted.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.errors import ConfigError
from kernelwright.source import parse as syntax

Value = Callable[[Mapping[str, int]], Any]
"""A compiled part of an expression: a function from a config to a number, a truth value or a tuple."""

LONGEST_TEXT = 2000
"""Most characters of a restriction. Only multiplication makes numbers grow, so this also limits their size."""
DEEPEST = 40
"""Deepest nesting of expressions; each level needs a few of Python's 1000 stack frames."""

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class Restriction:
    """A restriction that was read. text: as written. names: the parameters in it. value: its compiled form."""

    text: str
    names: frozenset[str]
    value: Value

    def holds(self, config: Mapping[str, int]) -> bool:
        """Whether a config satisfies the restriction. Raises `ConfigError` for a division by zero or a number beyond
        the range of a float."""
        try:
            return bool(self.value(config))
        except ArithmeticError as error:
            shown = ", ".join(f"{name}={config[name]}" for name in sorted(self.names))
            raise ConfigError(f"the restriction {self.text!r} has no value for {shown}: {error}") from error


def read_restriction(text: str, names: tuple[str, ...]) -> Restriction:
    """Read a restriction. Raises `ConfigError` if it is not an expression, has an unknown name or other syntax."""
    if len(text) > LONGEST_TEXT:
        raise ConfigError(f"a restriction of {len(text)} characters; at most {LONGEST_TEXT} were expected")
    try:
        tree = syntax.parse_expression(text.strip())
        used: set[str] = set()
        value = _read(tree, text, frozenset(names), used, DEEPEST)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"the restriction {text!r} is not a Python expression: {error}") from error
    return Restriction(text, frozenset(used), value)


def _read(node: ast.expr, text: str, names: frozenset[str], used: set[str], depth: int) -> Value:
    def part(inner: ast.expr) -> Value:
        return _read(inner, text, names, used, depth - 1)

    if depth == 0:
        raise ConfigError(f"the restriction {text!r} nests more than {DEEPEST} expressions")

    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return lambda _: number
        case ast.Name() | ast.Attribute():
            return _name(node, text, names, used)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _applied(BINARY[type(op)], [part(left), part(right)])
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return _applied(UNARY[type(op)], [part(operand)])
        case ast.BoolOp(op=op, values=values):
            return _joined(isinstance(op, ast.And), [part(value) for value in values])
        case ast.Compare(
            left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Tuple() | ast.List() as listed]
        ):
            members = [_member(one, part) for one in listed.elts]
            sought, wanted = _member(left, part), isinstance(op, ast.In)
            return lambda config: any(sought(config) == member(config) for member in members) is wanted
        case ast.Compare(left=left, ops=ops, comparators=right_sides) if all(type(op) in COMPARISONS for op in ops):
            return _chained([COMPARISONS[type(op)] for op in ops], [part(side) for side in (left, *right_sides)])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition, yes, no = part(test), part(body), part(orelse)
            return lambda config: yes(config) if condition(config) else no(config)
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if name in FUNCTIONS:
            if (name == "abs") != (len(arguments) == 1):
                raise ConfigError(f"the restriction {text!r} gives {name} {len(arguments)} arguments")
            return _applied(FUNCTIONS[name], [part(argument) for argument in arguments])
    raise ConfigError(
        f"the restriction {text!r} contains {ast.unparse(node)!r}, which is not allowed",
        "use numbers, parameters, comparisons, and/or/not, in, + - * / // %, min, max, abs",
    )


def _name(node: ast.expr, text: str, names: frozenset[str], used: set[str]) -> Value:
    name = ast.unparse(node)
    if name not in names:
        raise ConfigError(
            f"the restriction {text!r} mentions {name!r}; the parameters are {', '.join(sorted(names)) or 'none'}"
        )
    used.add(name)
    return lambda config: config[name]


def _member(node: ast.expr, part: Callable[[ast.expr], Value]) -> Value:
    """An element of a list: a number, or a tuple of numbers that are compared together."""
    if not isinstance(node, ast.Tuple):
        return part(node)
    values = [part(element) for element in node.elts]
    return lambda config: tuple(value(config) for value in values)


def _applied(function: Callable[..., Any], parts: list[Value]) -> Value:
    if len(parts) == 2:
        first, second = parts
        return lambda config: function(first(config), second(config))
    return lambda config: function(*(part(config) for part in parts))


def _joined(every: bool, parts: list[Value]) -> Value:
    if every:
        return lambda config: all(part(config) for part in parts)
    return lambda config: any(part(config) for part in parts)


def _chained(compares: list[Callable[[Any, Any], Any]], parts: list[Value]) -> Value:
    def chained(config: Mapping[str, int]) -> bool:
        values = [part(config) for part in parts]
        return all(compare(left, right) for compare, left, right in zip(compares, values[:-1], values[1:], strict=True))

    return chained
