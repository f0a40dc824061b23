"""Clean-up of a generated kernel's body for readers. It changes neither the results nor their order.

A name that only repeats another name is replaced by it. A named constant is replaced by its value where another operand
determines the dtype. `x * 1 + -2` becomes `x - 2`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

Expressions = dict[str, ast.expr]


def tidy(kernel: ast.FunctionDef) -> None:
    """Changes the kernel in place."""
    aliases = _aliases(kernel)
    _Replaced(aliases).visit(kernel)
    kernel.body = _without(kernel.body, aliases.keys())
    _Inlined(_constants(kernel)).visit(kernel)
    _Shorter().visit(kernel)


def _aliases(kernel: ast.FunctionDef) -> Expressions:
    """Names that are only ever assigned one other name, each time after that one was assigned in the same block."""
    assigned = Counter(name for block in _blocks(kernel.body) for one in block for name in _targets(one))
    pairs: dict[str, list[str]] = {}
    for block in _blocks(kernel.body):
        seen: set[str] = set()
        for one in block:
            match one:
                case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Name(id=name)):
                    pairs.setdefault(alias, []).append(name if name in seen else "")
                case _:
                    pass
            seen.update(_targets(one))
    found: Expressions = {}
    for alias, names in pairs.items():
        name = names[0]
        if set(names) == {name} and name and len(names) == assigned[alias] == assigned[name] and name not in pairs:
            found[alias] = ast.Name(name, ast.Load())
    return found


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for one in body:
        for inner in (getattr(one, "body", []), getattr(one, "orelse", [])):
            if inner:
                yield from _blocks(inner)


def _targets(statement: ast.stmt) -> list[str]:
    """Names that the statement itself assigns, without those in its blocks."""
    match statement:
        case ast.Assign(targets=targets):
            nodes: list[ast.expr] = targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            nodes = [target]
        case _:
            nodes = []
    return [one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)]


def _without(body: list[ast.stmt], names: object) -> list[ast.stmt]:
    kept = []
    for one in body:
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id in names:  # type: ignore[operator]
            continue
        if isinstance(one, ast.For):
            one.body = _without(one.body, names)
        kept.append(one)
    return kept


def _constants(kernel: ast.FunctionDef) -> Expressions:
    """Numbers that are made tensors of one element and assigned once, by name."""
    assigned = Counter(name for block in _blocks(kernel.body) for one in block for name in _targets(one))
    found: Expressions = {}
    for one in ast.walk(kernel):
        match one:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="tl"), attr="full"),
                    args=[ast.List(), ast.Constant(value=int() | float()) | ast.Name() as value, dtype],
                ),
            ) if assigned[name] == 1:
                is_float = ast.unparse(dtype) == "tl.float32"
                if (is_float and isinstance(value, ast.Constant)) or ast.unparse(dtype) in ("tl.int32", "tl.int64"):
                    found[name] = value
    return found


class _Replaced(ast.NodeTransformer):
    def __init__(self, names: Expressions) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replaces `x[:]` by x; x has one dimension."""
        self.generic_visit(node)
        is_all = isinstance(node.slice, ast.Slice) and ast.unparse(node.slice) == ":"
        return node.value if is_all else node


class _Inlined(ast.NodeTransformer):
    """Inlines constants where the dtype stays the same: in comparisons with another operand, and for float32 in
    arithmetic with another operand."""

    def __init__(self, constants: Expressions) -> None:
        self.constants = constants

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if not self._is_one(node.left):
            node.comparators = [self._value(one) for one in node.comparators]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if self._is_float(node.right) and not self._is_one(node.left):
            node.right = self._value(node.right)
        elif self._is_float(node.left) and not self._is_one(node.right):
            node.left = self._value(node.left)
        return node

    def _is_one(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.constants

    def _is_float(self, node: ast.expr) -> bool:
        value = self.constants.get(node.id) if isinstance(node, ast.Name) else None
        return isinstance(value, ast.Constant) and isinstance(value.value, float)

    def _value(self, node: ast.expr) -> ast.expr:
        return self.constants[node.id] if isinstance(node, ast.Name) and self._is_one(node) else node


class _Shorter(ast.NodeTransformer):
    """Leaves out `* 1`, `// 1` and `+ 0`, and writes `+ -2` as `- 2`. Only offsets have integers as operands."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match ast.unparse(node.right), node:
            case ("1", ast.BinOp(op=ast.Mult() | ast.FloorDiv())) | ("0", ast.BinOp(op=ast.Add())):
                return node.left
            case (_, ast.BinOp(op=ast.Add(), right=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(n))))):
                return ast.BinOp(node.left, ast.Sub(), ast.Constant(n))
            case _:
                return node
