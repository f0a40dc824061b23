"""Copies of syntax trees, many times faster than `copy.deepcopy`, which looks for objects that occur twice."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def copied(node: Node) -> Node:
    """Another node with the same fields, lines and columns, all nodes below it copied as well."""
    made = type(node).__new__(type(node))
    vars(made).update({name: _value(value) for name, value in vars(node).items()})
    return made


def _value(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return copied(value)
    return [_value(one) for one in value] if isinstance(value, list) else value
