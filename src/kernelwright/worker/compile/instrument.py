"""Instrumentation of kernels for the CPU interpreter: every expression reports its value to `activation.Activation`.

Pure syntax. `branches` records the kind of each of these expressions in the compiler, under the index that it has here.
The CPU interpreter runs the instrumented text, which checks that the kinds agree. Where Python and Triton's compiler
treat a construct differently (`and`, `or`, `not`, loops, augmented assignments, `assert`), the text follows the
compiler.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kernelwright.source.bindings import bindings, parameters_of, targets_of
from kernelwright.worker.rules.imports import Imports, allowed_imports

ACTIVATION, ENTER, LOCALS, LANGUAGE = "__activation", "__enter", "__locals", "__language"
RESERVED = {ACTIVATION, ENTER, LOCALS, LANGUAGE}
"""Names that the instrumentation adds; the source may not use them."""

Position = tuple[int, int, int, int]
"""First line and column of an expression, then last line and column. Line 1 is the function's `def`."""


class NotInstrumented(Exception):
    """A part of a source that the interpreter must not run, because it cannot be compared with the compiler there."""


@dataclass
class Sites:
    """The compared expressions of one function. index: by position. text: source by index."""

    parameters: tuple[str, ...]
    index: dict[Position, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)

    def add(self, node: ast.expr | ast.stmt, start: int) -> int:
        position = position_of(node, start)
        if position not in self.index:
            self.index[position] = len(self.text)
            self.text.append(ast.unparse(node))
        return self.index[position]


@dataclass(frozen=True)
class Instrumented:
    """An instrumented module. source: the text that the interpreter runs. sites: by function. lines: by line of that
    text, the statement there as the candidate has it."""

    source: str
    sites: dict[str, Sites]
    lines: dict[int, str]


def position_of(node: ast.AST, start: int) -> Position:
    """The position of a node in its function, whose `def` is on line `start`."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None:  # a node that the compiler created
        return 0, 0, 0, 0
    return first - start + 1, getattr(node, "col_offset", 0), last - start + 1, getattr(node, "end_col_offset", 0)


def instrument(source: str) -> Instrumented:
    """Instrument a module of extracted kernels; raises NotInstrumented if it uses a name of RESERVED.

    A statement that cannot be compared may be unreachable, so it is replaced by a call that fails when it is reached.
    """
    tree, rewrites = rewriting(source)
    sites = {name: rewrite() for name, rewrite in rewrites}
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return Instrumented(text, sites, _lines(source, tree, text))


def rewriting(source: str) -> tuple[ast.Module, list[tuple[str, Callable[[], Sites]]]]:
    """The tree of a module, and its functions: what instruments each there when it is first called, and returns its
    sites. A launch compiles few functions, so a compiler leaves the others. Raises as `instrument` does."""
    tree = ast.parse(source)
    may_take = not source.isascii() or any(name in source for name in RESERVED)  # Python normalises other characters
    if may_take and (taken := RESERVED & {name for node in ast.walk(tree) for name in _identifiers(node)}):
        raise NotInstrumented(f"{sorted(taken)[0]!r} is a name of the interpreter's")
    imports = allowed_imports(tree)

    def rewrite(function: ast.FunctionDef) -> Sites:
        return _Rewriter(function, imports).rewritten()

    return tree, [(one.name, functools.cache(functools.partial(rewrite, one)))
                  for one in tree.body if isinstance(one, ast.FunctionDef)]  # fmt: skip


def _lines(source: str, tree: ast.Module, text: str) -> dict[int, str]:
    """By line of the instrumented text, the line of `source` that it comes from. tree: what `text` was written of. What
    was added to it has the position of its function."""
    given, found = source.splitlines(), dict[int, int]()
    for old, new in zip(ast.walk(tree), ast.walk(ast.parse(text)), strict=False):
        if isinstance(old, ast.expr | ast.stmt) and isinstance(new, ast.expr | ast.stmt):
            found[new.lineno] = max(old.lineno, found.get(new.lineno, 0))
    return {line: given[number - 1].strip() for line, number in found.items()}


class _Rewriter:
    """Rewrites one function in place."""

    def __init__(self, function: ast.FunctionDef, imports: Imports) -> None:
        self.function, self.imports, self.start = function, imports, function.lineno
        self.sites = Sites(parameters=tuple(argument.arg for argument in parameters_of(function.args)))
        bound = Counter(binding.name for statement in function.body for binding in bindings(statement))
        bound.update(self.sites.parameters)
        comprehended = {name for node in ast.walk(function) for name in _comprehended(node)}
        self.clash = sorted(comprehended & bound.keys())
        self.local = bound.keys() | comprehended
        self.rebound = {name for name, count in bound.items() if count > 1}

    def rewritten(self) -> Sites:
        names = [ast.Name(id=name, ctx=ast.Store()) for name in self.sites.parameters]
        given: list[ast.expr] = [ast.Name(id=name, ctx=ast.Load()) for name in self.sites.parameters]
        entered = ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=ACTIVATION, ctx=ast.Store()), *names], ctx=ast.Store())],
            value=_call(ast.Name(id=ENTER, ctx=ast.Load()), ast.Constant(self.function.name), *given),
        )
        body = self.block(self.function.body)
        if self.clash:  # in Triton's compiler, a comprehension's variable belongs to the function
            body = [self.refused(f"{self.clash[0]!r} is bound in a comprehension and outside of it")]
        self.function.body = [entered, *body]
        return self.sites

    # --- statements ------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            try:
                made += list(self.statement(statement))
            except NotInstrumented as error:
                made.append(self.refused(str(error)))
        return made

    def refused(self, why: str) -> ast.stmt:
        return ast.Expr(value=self._method("refused", ast.Constant(why)))

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
                yield node
            case ast.Expr(value=value):
                yield ast.Expr(value=self.unused(value))
            case ast.Return(value=ast.expr() as value):
                yield ast.Return(value=self.value(value, always=True))
            case ast.Assert(test=test, msg=message):  # Triton's compiler only evaluates the operands of an assertion
                operands = [test] if message is None else [test, message]
                yield from (ast.Expr(value=self.value(operand)) for operand in operands)
            case ast.Assign(targets=[target], value=value):
                yield self.assigned(target, self.value(value, always=True))
            case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                left = ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target)
                made = ast.BinOp(left=self.value(left), op=operator, right=self.value(value))
                yield self.assigned(target, self._at(node, made))
            case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=ast.expr() as value):
                if self.imports.dotted(annotation) == "triton.language.constexpr":
                    yield ast.AnnAssign(target=target, annotation=ast.Constant("constexpr"),
                                        value=self.value(value, always=True), simple=1)  # fmt: skip
                else:  # Triton's compiler evaluates the value twice
                    yield ast.Expr(value=self.value(value, always=True))
                    yield self.assigned(target, self.value(value, always=True))
            case ast.If(test=test, body=body, orelse=orelse):
                yield ast.If(test=self.value(test, always=True), body=self.block(body), orelse=self.block(orelse))
            case ast.While(test=test, body=body, orelse=[]):
                every = _call(ast.Name(id=LOCALS, ctx=ast.Load()))
                number = ast.Constant(self.sites.add(test, self.start))
                turn = self._method("turn", number, self.value(test, always=True), every)
                yield ast.While(test=turn, body=self.block(body), orelse=[])
            case ast.For(target=ast.Name(), iter=ast.Call() as call, orelse=[]):
                yield from self.loop(node, call)
            case _:
                raise NotInstrumented(
                    f"{self.function.name}: {ast.unparse(node)[:60]!r} cannot be compared with what was compiled"
                )

    def assigned(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        return ast.Assign(targets=[target], value=self._method("assigned", value))

    def loop(self, node: ast.For, call: ast.Call) -> Iterator[ast.stmt]:
        """A loop over `range`, `tl.range` or `tl.static_range`; the compiler's report tells which of them it is."""
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
            k.arg is None for k in call.keywords
        ):
            raise NotInstrumented(f"`{ast.unparse(call)[:80]}` cannot be compared with what was compiled")
        if isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1:
            yield ast.Expr(value=self.value(call.args[0]))  # Triton's compiler evaluates it twice
        index = ast.Constant(self.sites.add(call, self.start))
        keywords = [ast.keyword(arg=keyword.arg, value=self.value(keyword.value)) for keyword in call.keywords]
        items = self._method("loop", index, *(self.value(argument) for argument in call.args))
        items.keywords = keywords
        yield ast.For(target=node.target, iter=items, body=self.block(node.body), orelse=[])

    # --- expressions -----------------------------------------------------------------------------------------

    def unused(self, node: ast.expr) -> ast.expr:
        """A call whose result is not used: the only check is that the compiler visited it too."""
        if not isinstance(node, ast.Call):
            return self.value(node, always=True)
        if self._is_global(node.func) and self.imports.dotted(node.func) == "triton.language.static_assert":
            return self.value(node.args[0], always=True)  # the message is evaluated only where it fails
        index = ast.Constant(self.sites.add(node, self.start))
        return self._method("passed", index, self.inside(node))

    def value(self, node: ast.expr, always: bool = False) -> ast.expr:
        """An expression that reports its value. Names and literals do not: a name's value was reported when it was
        bound, a literal cannot differ. always: report these too."""
        bare = isinstance(node, ast.Constant) or self._is_global(node) or _is_number(node)
        if bare or isinstance(node, ast.Tuple | ast.List):
            compared = always
        elif isinstance(node, ast.Name):
            compared = always or node.id in self.rebound
        else:
            compared = not isinstance(node, ast.JoinedStr)
        made = node if bare else self.inside(node)
        return self._at(node, made) if compared else made

    def inside(self, node: ast.expr) -> ast.expr:
        """The same expression, with parts that report their values."""
        match node:
            case ast.Name() | ast.Constant():
                return node
            case ast.Attribute(value=value, attr="value"):
                return self._method("plain", self.value(value))
            case ast.Attribute(value=value, attr=attr):
                return ast.Attribute(value=self.value(value), attr=attr, ctx=ast.Load())
            case ast.Call():
                return self.call(node)
            case ast.BinOp(left=left, op=operator, right=right):
                return ast.BinOp(left=self.value(left), op=operator, right=self.value(right))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return ast.Compare(left=self.value(left), ops=[operator], comparators=[self.value(right)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._method("negated", self.value(operand))
            case ast.UnaryOp(op=operator, operand=operand):
                return ast.UnaryOp(op=operator, operand=self.value(operand))
            case ast.BoolOp(op=operator, values=values):
                return self._method("either" if isinstance(operator, ast.Or) else "both",
                                    *(_later(self.value(value)) for value in values))  # fmt: skip
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ast.IfExp(test=self.value(test, always=True), body=self.value(body), orelse=self.value(orelse))
            case ast.Subscript(value=value, slice=index):
                return ast.Subscript(value=self.value(value), slice=self.index(index), ctx=ast.Load())
            case ast.Tuple(elts=elements):
                return ast.Tuple(elts=[self.value(element) for element in elements], ctx=ast.Load())
            case ast.List(elts=elements):
                return ast.Tuple(elts=[self.value(element) for element in elements], ctx=ast.Load())
            case ast.ListComp(
                elt=element, generators=[ast.comprehension(target=ast.Name() as target, iter=items, ifs=[])]
            ):
                each = self._method("each", ast.Constant(self.sites.add(node, self.start)), self.value(items))
                generator = ast.comprehension(target=target, iter=each, ifs=[], is_async=0)
                return ast.ListComp(elt=self.value(element, always=True), generators=[generator])
            case ast.JoinedStr(values=values) if all(_is_plain(value) for value in values):
                return node
        raise NotInstrumented(
            f"{self.function.name}: {ast.unparse(node)[:60]!r} cannot be compared with what was compiled"
        )

    def call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute) and not self._is_global(function):
            function = ast.Attribute(value=self.value(function.value), attr=function.attr, ctx=ast.Load())
        elif not isinstance(function, ast.Name | ast.Attribute):
            function = self.value(function)
        arguments = [
            ast.Starred(value=self.value(argument.value), ctx=ast.Load())
            if isinstance(argument, ast.Starred)
            else self.value(argument)
            for argument in node.args
        ]
        keywords = [ast.keyword(arg=keyword.arg, value=self.value(keyword.value)) for keyword in node.keywords]
        return ast.Call(func=function, args=arguments, keywords=keywords)

    def index(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Tuple(elts=elements):
                return ast.Tuple(elts=[self.index(element) for element in elements], ctx=ast.Load())
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = [None if part is None else self.value(part) for part in (lower, upper, step)]
                return ast.Slice(lower=parts[0], upper=parts[1], step=parts[2])
            case _:
                return self.value(node)

    def _is_global(self, node: ast.expr) -> bool:
        """Whether a chain of attributes begins at a global name: its value is the same in compiler and interpreter."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.local

    def _at(self, node: ast.expr | ast.stmt, made: ast.expr) -> ast.expr:
        return self._method("at", ast.Constant(self.sites.add(node, self.start)), made)

    def _method(self, name: str, *arguments: ast.expr) -> ast.Call:
        activation = ast.Name(id=ACTIVATION, ctx=ast.Load())
        return _call(ast.Attribute(value=activation, attr=name, ctx=ast.Load()), *arguments)


def _call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=function, args=list(arguments), keywords=[])


def _later(value: ast.expr) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=nothing, body=value)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


def _is_plain(value: ast.expr) -> bool:
    """Whether a part of an f-string computes nothing. Before Python 3.12 its parts have no reliable positions."""
    inner = value.value if isinstance(value, ast.FormattedValue) else value
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return isinstance(inner, ast.Name | ast.Constant)


def _identifiers(node: ast.AST) -> set[str]:
    return {name for field in ("id", "arg", "name", "asname") if isinstance(name := getattr(node, field, None), str)}


def _comprehended(node: ast.AST) -> set[str]:
    return targets_of(node) if isinstance(node, ast.comprehension) else set()
