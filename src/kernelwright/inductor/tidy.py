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
    _Replaced(_aliases(kernel)).visit(kernel)
    _Inlined(_constants(kernel)).visit(kernel)
    _Shorter().visit(kernel)
    _drop_unread(kernel)


def _aliases(kernel: ast.FunctionDef) -> Expressions:
    """Names that are only ever assigned one other name, each time after that one was assigned in the same block."""
    assigned = Counter(name for block in blocks_of(kernel.body) for one in block for name in _targets(one))
    pairs: dict[str, list[str]] = {}
    for block in blocks_of(kernel.body):
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


def blocks_of(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The statements of a body, and those of each loop and branch in it."""
    yield body
    for one in body:
        for inner in (getattr(one, "body", []), getattr(one, "orelse", [])):
            if inner:
                yield from blocks_of(inner)


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


def _drop_unread(kernel: ast.FunctionDef) -> None:
    """Remove assignments to names that nothing reads."""
    while True:
        read = {n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} | {""}
        unread = [(block, one) for block in blocks_of(kernel.body) for one in block if _name_of(one) not in read]
        if not unread:
            return
        for block, one in unread:
            block.remove(one)


def _name_of(statement: ast.stmt) -> str:
    """The name that an assignment is to; "" for other statements and targets."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _constants(kernel: ast.FunctionDef) -> Expressions:
    """Numbers that are made tensors of one element and assigned once, by name."""
    assigned = Counter(name for block in blocks_of(kernel.body) for one in block for name in _targets(one))
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
        self.floats = {name: one for name, one in constants.items()
                       if isinstance(one, ast.Constant) and isinstance(one.value, float)}  # fmt: skip

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if _id(node.left) not in self.constants:
            node.comparators = [self.constants.get(_id(one), one) for one in node.comparators]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = _id(node.left), _id(node.right)
        if right in self.floats and left not in self.constants:
            node.right = self.floats[right]
        elif left in self.floats and right not in self.constants:
            node.left = self.floats[left]
        return node


def _id(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


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
