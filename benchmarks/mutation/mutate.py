"""Mutants of a right kernel: its text with one place changed, as a slip of a person or a model might change it.

Kinds are the mistakes that kernels are known for: an operator, a term or a function left out, a comparison, a mask, an
index, a loop's end, a cast, a constant, a starting value, a clamp, a program that is missing. Which of them compute
something else is not known here: `decide.py` finds out.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

LEFT_OUT = {
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "abs",
    "sigmoid",
    "erf",
    "tanh",
    "floor",
    "cos",
    "sin",
    "log1p",
}
"""Functions of one argument that a mutant leaves out."""

SWAPPED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*"}
COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
REDUCED = {"sum": "max", "max": "sum", "min": "max", "cumsum": "cumprod"}
CLAMP = 60.0
"""Where a mutant clamps what is stored: ordinary values stay below."""


@dataclass(frozen=True)
class Mutant:
    """before, after: of the changed place. source: the whole module."""

    kind: str
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """Of its kind and text, the same in every run."""
        return f"{self.kind}-{hashlib.sha256(self.source.encode()).hexdigest()[:12]}"


class Text:
    """Replaces what a node of its tree covers."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [line.encode() for line in source.splitlines(keepends=True)]

    def of(self, node: ast.expr | ast.stmt) -> str:
        return ast.get_source_segment(self.source, node) or ""

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> str:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        before = b"".join([*self.lines[: node.lineno - 1], self.lines[node.lineno - 1][: node.col_offset]])
        after = b"".join([self.lines[node.end_lineno - 1][node.end_col_offset :], *self.lines[node.end_lineno :]])
        return (before + new.encode() + after).decode()


def mutants(source: str, at_most: int | None = None) -> list[Mutant]:
    """All mutants of a module that parse, each once. at_most: take this many, kinds in turn, by the hash of their text."""
    text, found = Text(source), {}
    for kind, node, new in _changes(ast.parse(source), text):
        changed = text.replaced(node, new)
        try:
            same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
        except SyntaxError:
            continue
        if not same:
            mutant = Mutant(kind, node.lineno, " ".join(text.of(node).split()), " ".join(new.split()), changed)
            found.setdefault(changed, mutant)
    return _chosen(list(found.values()), at_most)


def _chosen(every: list[Mutant], at_most: int | None) -> list[Mutant]:
    if at_most is None or len(every) <= at_most:
        return every
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(every, key=lambda one: one.name):
        kinds[mutant.kind].append(mutant)
    taken: list[Mutant] = []
    while len(taken) < at_most:
        for waiting in kinds.values():
            if waiting and len(taken) < at_most:
                taken.append(waiting.pop(0))
    return sorted(taken, key=lambda one: (one.line, one.name))


Change = tuple[str, ast.expr | ast.stmt, str]
"""Kind, node, and the text that takes its place."""


def _changes(tree: ast.Module, text: Text) -> Iterator[Change]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        if any("jit" in ast.unparse(decorator) for decorator in function.decorator_list):
            inside = {id(node) for access in _accesses(function) for node in ast.walk(access.args[0])}
            for statement in function.body:
                for node in ast.walk(statement):
                    yield from _of_kernel(node, text, "index" if id(node) in inside else "")
        else:
            for node in ast.walk(function):
                yield from _of_host(node, text)


def _accesses(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _name(node) in ("load", "store", "atomic_add") and node.args:
            yield node


def _name(call: ast.Call) -> str:
    """The last part of what is called: `load` of `tl.load`, `to` of `x.to`."""
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _of_kernel(node: ast.AST, text: Text, where: str) -> Iterator[Change]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            first, second = text.of(left), text.of(right)
            if type(op) in SWAPPED:
                yield where or "operator", node, f"(({first}) {SWAPPED[type(op)]} ({second}))"
                yield where or "term left out", node, f"({first})"
            elif isinstance(op, ast.BitAnd):
                yield "mask", node, f"({first})"
                yield "mask", node, f"({second})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            yield "comparison", node, f"(({text.of(left)}) {COMPARED[type(op)]} ({text.of(right)}))"
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            yield "term left out", node, f"{text.of(target)} = {text.of(value)}"
            yield "operator", node, f"{text.of(target)} -= {text.of(value)}"
        case ast.Constant(value=float() as number):
            yield "constant", node, "1.0" if number == 0.0 else repr(number * 2)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Call() as call) if "inf" in text.of(call):
            yield "starting value", node, "0.0"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "operator", node, f"({text.of(operand)})"
        case ast.Call():
            yield from _of_call(node, text)


def _of_call(call: ast.Call, text: Text) -> Iterator[Change]:
    name, arguments = _name(call), [text.of(argument) for argument in call.args]
    head = text.of(call.func)
    match name, arguments:
        case (("load" | "store"), [pointer, *rest]):
            mask = next((word for word in call.keywords if word.arg == "mask"), None)
            keywords = [f"{word.arg}={text.of(word.value)}" for word in call.keywords]
            yield "index", call, f"{head}({', '.join([f'({pointer}) + 1', *rest, *keywords])})"
            if mask is not None:
                kept = [word for word in keywords if not word.startswith(("mask=", "other="))]
                yield "mask", call, f"{head}({', '.join([pointer, *rest, *kept])})"
            if name == "store" and rest:
                value, *others = rest
                for clamped in (f"tl.minimum({value}, {CLAMP})", f"tl.maximum({value}, -{CLAMP})"):
                    yield "clamp", call, f"{head}({', '.join([pointer, clamped, *others, *keywords])})"
        case (("maximum" | "minimum"), [first, second]):
            yield "function left out", call, f"({first})"
            yield "function left out", call, f"({second})"
        case "where", [_, first, second]:
            yield "function left out", call, f"({first})"
            yield "function left out", call, f"({second})"
        case _, [first] if name in LEFT_OUT:
            yield "function left out", call, f"({first})"
        case _, [_, *_] if name in REDUCED and head.startswith("tl."):
            yield "reduction", call, text.of(call).replace(f"tl.{name}", f"tl.{REDUCED[name]}", 1)
        case "to", [kind] if kind.endswith("float32"):
            yield "narrow cast", call, f"{head}(tl.float16).to(tl.float32)"
        case (("zeros" | "full"), _):
            yield "starting value", call, f"({text.of(call)} + 1)"
        case "program_id", _:
            yield "neighbour", call, f"({text.of(call)} + 1)"
        case "range", [*_] if arguments and call.args:
            ends = [*arguments]
            position = 1 if len(ends) > 1 else 0
            shorter = [*ends[:position], f"({ends[position]}) - 1", *ends[position + 1 :]]
            yield "loop", call, f"{head}({', '.join(shorter)})"
            if len(ends) == 3:
                yield "loop", call, f"{head}({ends[2]}, {ends[1]}, {ends[2]})"
                yield "loop", call, f"{head}({ends[0]}, ({ends[1]}) - ({ends[2]}) + 1, {ends[2]})"
        case "dot", _ if "ieee" in text.of(call):
            yield "narrow product", call, text.of(call).replace("ieee", "tf32")


def _of_host(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Subscript(slice=ast.Tuple(elts=[first, *_]))):
            yield "missing program", first, f"max({text.of(first)} - 1, 1)"
