"""Branches of host code: instrumentation that records which branches ran, and refusals in place of those that did not.

A branch is a block or an expression that a call may skip: both sides of a condition, the body of a loop or a function,
statements after one that may return, the later operands of `and` and `or`. Kernels are excluded. Branch numbers follow
the order of the AST, so two readers of the same text number them equally. Pure syntax.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kernelwright.source import parse as syntax
from kernelwright.source.edits import Edit, edited
from kernelwright.source.kernels import host_code

MARK = "__took__"
"""Function that an instrumented module calls with a branch's number. It returns None."""

REFUSAL = "_not_judged"

LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Branch:
    """A part of a function that a call may skip. nodes: consecutive statements, or one expression. condition: the text
    that says when it runs. is_elif: whether it begins with `elif`."""

    nodes: tuple[ast.stmt, ...] | tuple[ast.expr]
    condition: str
    is_elif: bool = False

    @property
    def line(self) -> int:
        return self.nodes[0].lineno

    def __str__(self) -> str:
        return f"line {self.line}: {self.condition}"

    def replaced(self, text: str) -> Edit:
        """The edit that puts `text` in the branch's place."""
        return Edit(self.nodes[0], self.nodes[-1], f"else: {text}" if self.is_elif else text)


def branches(tree: ast.Module) -> list[Branch]:
    """Every branch in functions of `tree` that are not kernels; outer branches before inner ones."""
    return [branch for node in host_code(tree) for branch in _outside(node)]


def _outside(node: ast.AST) -> Iterator[Branch]:
    """Branches of the functions within code that runs at import."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _function(node)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _outside(child)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Branch]:
    documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    body = node.body[1:] if documented and len(node.body) > 1 else node.body
    yield Branch(tuple(body), f"{node.name}() is called")
    yield from _statements(body)


def _statements(body: list[ast.stmt]) -> Iterator[Branch]:
    for position, statement in enumerate(body):
        yield from _statement(statement)
        rest = body[position + 1 :]
        if rest and _may_leave(statement):
            yield Branch(tuple(rest), f"the statement at line {statement.lineno} does not end the call")


def _may_leave(statement: ast.stmt) -> bool:
    compound = isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match)
    return compound and any(isinstance(node, LEAVES) for node in ast.walk(statement))


def _statement(node: ast.stmt) -> Iterator[Branch]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _function(node)
            return
        case ast.If(test=test, body=body, orelse=orelse):
            yield from _expression(test)
            yield from _block(body, ast.unparse(test))
            is_elif = len(orelse) == 1 and isinstance(orelse[0], ast.If) and orelse[0].col_offset == node.col_offset
            yield from _block(orelse, f"not ({ast.unparse(test)})", is_elif)
            return
        case ast.For(iter=over, body=body, orelse=orelse):
            yield from _expression(over)
            yield from _block(body, f"{ast.unparse(over)} is not empty")
            yield from _block(orelse, f"the loop of line {node.lineno} ends")
            return
        case ast.While(test=test, body=body, orelse=orelse):
            yield from _expression(test)
            yield from _block(body, ast.unparse(test))
            yield from _block(orelse, f"the loop of line {node.lineno} ends")
            return
        case ast.Match(subject=subject, cases=cases):
            yield from _expression(subject)
            for case in cases:
                yield from _block(case.body, f"{ast.unparse(subject)} is {ast.unparse(case.pattern)}")
            return
        case ast.With(items=items, body=body):
            for item in items:
                yield from _expression(item.context_expr)
            yield from _statements(body)
            return
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield from _statements(body)
            for handler in handlers:
                yield from _block(handler.body, f"line {node.lineno} fails")
            yield from _block(orelse, f"line {node.lineno} does not fail")
            yield from _statements(finalbody)
            return
        case ast.ClassDef():
            yield from (branch for child in node.body for branch in _outside(child))
            return
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expression(child)


def _block(body: list[ast.stmt], condition: str, is_elif: bool = False) -> Iterator[Branch]:
    if body:
        yield Branch(tuple(body), condition, is_elif)
        yield from _statements(body)


def _expression(node: ast.AST) -> Iterator[Branch]:
    arms: list[tuple[ast.expr, str]] = []
    match node:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            arms = [(body, ast.unparse(test)), (orelse, f"not ({ast.unparse(test)})")]
        case ast.BoolOp(values=[first, *rest]):
            kind = "not " if isinstance(node.op, ast.Or) else ""
            arms = [(arm, f"{kind}({ast.unparse(first)})") for arm in rest]
        case ast.Lambda(body=body):
            arms = [(body, f"the function of line {node.lineno} is called")]
        case _:
            pass
    yield from (Branch((arm,), condition) for arm, condition in arms)
    for child in ast.iter_child_nodes(node):
        yield from _expression(child)


def marked(tree: ast.Module) -> ast.Module:
    """`tree`, changed in place so that each branch calls `MARK` with its number when it runs."""
    starts: dict[int, list[int]] = {}
    arms: dict[int, int] = {}
    for number, branch in enumerate(branches(tree)):
        first = branch.nodes[0]
        if isinstance(first, ast.stmt):
            starts.setdefault(id(first), []).append(number)
        else:
            arms[id(first)] = number
    made = _Marking(starts, arms).visit(tree)
    assert isinstance(made, ast.Module)
    return ast.fix_missing_locations(made)


class _Marking(ast.NodeTransformer):
    def __init__(self, starts: dict[int, list[int]], arms: dict[int, int]) -> None:
        self.starts, self.arms = starts, arms

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        numbers, arm = self.starts.get(id(node), []), self.arms.get(id(node))
        made = self.generic_visit(node)
        if arm is not None:
            return ast.copy_location(ast.BoolOp(ast.Or(), [_mark(arm, node), made]), node)  # type: ignore[list-item]
        if numbers:
            return [*(ast.copy_location(ast.Expr(_mark(number, node)), node) for number in numbers), made]
        return made


def _mark(number: int, where: ast.AST) -> ast.expr:
    call = ast.Call(func=ast.Name(id=MARK, ctx=ast.Load()), args=[ast.Constant(value=number)], keywords=[])
    return ast.copy_location(call, where)


def without_untaken(source: str, taken: Collection[int]) -> tuple[str, tuple[str, ...]]:
    """`source` with a refusal in place of every branch that did not run, and "line N: condition" for each.

    Branches that refuse already, or do nothing, are kept.
    """
    tree = syntax.parse(source)
    replaced = [
        branch for number, branch in enumerate(branches(tree)) if number not in taken and not _is_refusal(branch)
    ]
    covered: set[int] = set()
    edits, conditions = [], []
    for branch in replaced:
        if id(branch.nodes[0]) in covered:
            continue
        covered |= {id(inner) for node in branch.nodes for inner in ast.walk(node)}
        words = f"not judged: line {branch.line}, where {branch.condition}"
        refusal = REFUSAL if isinstance(branch.nodes[0], ast.expr) else "raise NotImplementedError"
        edits.append(branch.replaced(f"{refusal}({words!r})"))
        conditions.append(str(branch))
    made = edited(source, edits)
    if any(isinstance(edit.first, ast.expr) for edit in edits):
        made = f"{made.rstrip()}\n\n\ndef {REFUSAL}(why):\n    raise NotImplementedError(why)\n"
    return made, tuple(conditions)


def _is_refusal(branch: Branch) -> bool:
    first = branch.nodes[0]
    nothing = all(isinstance(node, ast.Pass | ast.Break | ast.Continue) for node in branch.nodes)
    return nothing or isinstance(first, ast.Raise) or all(isinstance(node, ast.Assert) for node in branch.nodes)
