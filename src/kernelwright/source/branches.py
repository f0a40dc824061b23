"""Branches of host code: instrumentation that records which branches ran, and refusals in place of those that did not.

A branch is a block or an expression that may be skipped: both sides of a condition, the body of a loop or a function,
statements after one that may return or fail, the later operands of `and` and `or`. Of code that runs at import only
blocks count. Kernels are excluded. Branch numbers follow the order of the AST, so two readers of the same text number
them equally. Pure syntax.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import FUNCTIONS, callee
from kernelwright.source.edits import Edit, edited
from kernelwright.source.kernels import JIT_SPELLINGS, host_code

MARK = "__took__"
"""Function that an instrumented module calls with a branch's number. It returns None."""

STAND_IN = "__absent__"
"""Function that gives a module that is recorded a stand-in for a name of an absent package, and without one fails as an
import does."""

REFUSAL = "_not_judged"
NOT_JUDGED = "not judged: line "
"""How the text of a refusal begins."""

LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Branch:
    """A part of host code that may be skipped. nodes: consecutive statements, or one expression. condition: the text
    that says when it runs. is_elif: whether it begins with `elif`. is_handler: whether it handles an exception.
    at_import: whether it runs at import, if at all."""

    nodes: tuple[ast.stmt, ...] | tuple[ast.expr]
    condition: str
    is_elif: bool = False
    is_handler: bool = False
    at_import: bool = False

    @property
    def line(self) -> int:
        return self.nodes[0].lineno

    def __str__(self) -> str:
        return f"line {self.line}: {self.condition}"

    def replaced(self, text: str) -> Edit:
        """The edit that puts `text` in the branch's place."""
        return Edit(self.nodes[0], self.nodes[-1], f"else: {text}" if self.is_elif else text)


def branches(tree: ast.Module) -> list[Branch]:
    """Every branch of host code; outer branches before inner ones."""
    return [branch for node in host_code(tree) for branch in _outside(node)]


def _outside(node: ast.stmt) -> Iterator[Branch]:
    """Branches of a statement that runs at import, and those of the functions in it. A test script has none."""
    called = {id(part) for one in ast.walk(node) if isinstance(one, FUNCTIONS) for part in ast.walk(one)}
    if not runs_as_script(node):
        for one in _statement(node):
            if id(one.nodes[0]) in called:
                yield one
            elif isinstance(one.nodes[0], ast.stmt):
                yield replace(one, at_import=True)


def runs_as_script(node: ast.stmt) -> bool:
    """Whether `node` is an `if __name__ == "__main__":` block, which no import runs: a test script, not host code."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is under `@triton.jit`, by its text, at any place."""
    return any(ast.unparse(callee(one)) in JIT_SPELLINGS for one in node.decorator_list)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Branch]:
    if is_kernel(node):
        return
    documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    body = node.body[1:] if documented and len(node.body) > 1 else node.body
    yield Branch(tuple(body), f"{node.name}() is called")
    yield from _statements(body)


def _statements(body: list[ast.stmt], tried: bool = False) -> Iterator[Branch]:
    for position, statement in enumerate(body):
        yield from _statement(statement)
        rest = body[position + 1 :]
        if rest and tried:
            yield Branch(tuple(rest), f"line {statement.lineno} does not fail")
        elif rest and _may_leave(statement):
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
        case ast.For(iter=head, body=body, orelse=orelse) | ast.While(test=head, body=body, orelse=orelse):
            yield from _expression(head)
            yield from _block(body, ast.unparse(head) + " is not empty" * isinstance(node, ast.For))
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
            yield from _statements(body, tried=bool(handlers))
            for handler in handlers:
                yield Branch(tuple(handler.body), f"line {node.lineno} fails", is_handler=True)
                yield from _statements(handler.body)
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
    numbers: dict[int, list[int]] = {}
    for number, branch in enumerate(branches(tree)):
        numbers.setdefault(id(branch.nodes[0]), []).append(number)
    made = _Marking(numbers).visit(tree)
    assert isinstance(made, ast.Module)
    return ast.fix_missing_locations(made)


class _Marking(ast.NodeTransformer):
    """numbers: of the branches that begin with a node, by its id."""

    def __init__(self, numbers: dict[int, list[int]]) -> None:
        self.numbers = numbers

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        marks = [_mark(number, node) for number in self.numbers.get(id(node), [])]
        made = self.generic_visit(node)
        if marks and isinstance(made, ast.expr):
            return ast.copy_location(ast.BoolOp(ast.Or(), [*marks, made]), node)
        return [*(ast.copy_location(ast.Expr(mark), node) for mark in marks), made] if marks else made


def _mark(number: int, where: ast.AST) -> ast.expr:
    call = ast.Call(func=ast.Name(id=MARK, ctx=ast.Load()), args=[ast.Constant(value=number)], keywords=[])
    return ast.copy_location(call, where)


def without_untaken(source: str, taken: Collection[int], at_import: bool = False) -> tuple[str, tuple[str, ...]]:
    """`source` with a refusal in place of every branch that did not run, and "line N: condition" for each.

    Branches that refuse already, or do nothing, are kept. at_import: also branches of what runs at import, which on
    another machine may be others.
    """
    tree = syntax.parse(source)
    replaced = [
        branch
        for number, branch in enumerate(branches(tree))
        if number not in taken and at_import >= branch.at_import and not _is_refusal(branch)
    ]
    covered: set[int] = set()
    edits, conditions = [], []
    for branch in replaced:
        if id(branch.nodes[0]) in covered:
            continue
        covered |= {id(inner) for node in branch.nodes for inner in ast.walk(node)}
        words = f"{NOT_JUDGED}{branch.line}, where {branch.condition}"
        refusal = REFUSAL if isinstance(branch.nodes[0], ast.expr) else "raise NotImplementedError"
        edits.append(branch.replaced(f"{refusal}({words!r})"))
        conditions.append(str(branch))
    made = edited(source, edits)
    if any(isinstance(edit.first, ast.expr) for edit in edits):
        made = f"{made.rstrip()}\n\n\ndef {REFUSAL}(why):\n    raise NotImplementedError(why)\n"
    return made, tuple(conditions)


def _is_refusal(branch: Branch) -> bool:
    if not branch.is_handler and all(isinstance(node, ast.Pass | ast.Break | ast.Continue) for node in branch.nodes):
        return True
    return isinstance(branch.nodes[0], ast.Raise) or all(isinstance(node, ast.Assert) for node in branch.nodes)
