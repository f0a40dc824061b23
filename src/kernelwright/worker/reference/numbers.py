"""The whole numbers of a problem file that a case may replace, and the names of the case parameters for them.

| name | the number |
|---|---|
| `batch_size` | a module-level number, or an argument of get_inputs or get_init_inputs |
| `input_shape[0]` | an item of a module-level tuple or list; `sizes[0][1]` of one inside it |
| `get_inputs[2]` | the third whole number in the body of get_inputs (get_init_inputs likewise), from the top |
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from kernelwright.model import Scalar

F = TypeVar("F", ast.FunctionDef, ast.AsyncFunctionDef)

BODIES = ("get_inputs", "get_init_inputs")
"""The functions in whose bodies numbers may be replaced."""

_ITEM = re.compile(r"([^\W\d]\w*)((?:\[\d+\])+)")


class Item(NamedTuple):
    """A parameter name with brackets: `sizes[0][1]` has owner "sizes" and path (0, 1)."""

    owner: str
    path: tuple[int, ...]


def item_of(name: str) -> Item | None:
    """The parts of a parameter name with brackets; None for a name without."""
    found = _ITEM.fullmatch(name)
    return Item(found[1], tuple(map(int, re.findall(r"\d+", found[2])))) if found else None


def whole_numbers(
    tree: ast.Module, module: types.ModuleType, assigned: set[str], params: Mapping[str, Scalar]
) -> dict[str, int]:
    """Every whole number that a case may replace, with its value in `module`, which was executed with `params`.

    assigned: names that the file assigns at module level.
    """
    found: dict[str, int] = {}
    for name, value in vars(module).items():
        if name in assigned and name != "CASES":
            found |= dict(_numbers_in(name, value))
    for body in BODIES:
        function = getattr(module, body)
        for one in parameters_of(function):
            given = params.get(one.name, one.default)
            if int in (type(one.default), type(given)) and one.name not in found:
                found |= dict(_numbers_in(one.name, given))
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == body:
                for position, literal in enumerate(literals(statement)):
                    name = f"{body}[{position}]"
                    found[name] = int(params.get(name, literal.value))
    return found


def literals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Any]:
    """The whole numbers in a function's body, in the order of the text."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    found = [node for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def with_literals(function: F, values: Mapping[int, ast.expr]) -> F:
    """A copy of `function` with expressions for whole numbers in its body. values: by positions in `literals`."""
    chosen = {(node.lineno, node.col_offset): values[i] for i, node in enumerate(literals(function)) if i in values}

    class Replace(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            place = (node.lineno, node.col_offset)
            if type(node.value) is not int or place not in chosen:
                return node
            return ast.fix_missing_locations(ast.copy_location(chosen[place], node))

    made = copy.deepcopy(function)
    made.body = [Replace().visit(statement) for statement in made.body]
    return made


def replaced(value: Any, path: tuple[int, ...], number: Scalar) -> Any:
    """A tuple or list with the item at `path` replaced."""
    if not path:
        return number
    items = list(value)
    items[path[0]] = replaced(items[path[0]], path[1:], number)
    return type(value)(items) if type(value) in (list, tuple) else items


def _numbers_in(name: str, value: object) -> Iterator[tuple[str, int]]:
    if type(value) is int:
        yield name, value
    elif type(value) in (list, tuple):
        assert isinstance(value, list | tuple)
        for position, item in enumerate(value):
            yield from _numbers_in(f"{name}[{position}]", item)


def parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    """None for most builtins."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []
