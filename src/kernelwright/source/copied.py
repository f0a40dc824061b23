"""Fast copies of ASTs, many times faster than `copy.deepcopy`, which looks for shared objects."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def copied(node: Node) -> Node:
    """A copy of a node with its fields and positions; all nodes below it are copied too."""
    made = type(node).__new__(type(node))
    vars(made).update({name: _value(value) for name, value in vars(node).items()})
    return made


def _value(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return copied(value)
    return [_value(one) for one in value] if isinstance(value, list) else value
