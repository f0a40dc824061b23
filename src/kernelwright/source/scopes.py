"""Where a name's value comes from, read off the syntax tree.

Not an evaluator: it answers only for a name that is bound exactly once, to an int. The one rule: any binding that
it does not understand counts as one, so doubt always makes a name unknown.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kernelwright.source import parse as syntax


@dataclass(eq=False)
class Scope:
    """The names that a module, class, function or lambda binds, with the expression where there is one."""

    parent: Scope | None
    is_class: bool = False
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=dict)

    def bind(self, name: str, value: ast.expr | None) -> None:
        self.bindings.setdefault(name, []).append(value)

    def lookup(self, name: str) -> tuple[Scope, list[ast.expr | None]] | None:
        """The scope that binds `name` as Python would find it from here; class bodies hide from their methods."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope, scope.bindings[name]
            scope = scope.parent
        return None


@dataclass(frozen=True)
class Origin:
    """The int literal behind an expression, and the name that holds it (None: it is written in place)."""

    node: ast.Constant
    value: int
    name: str | None


class Reader(ast.NodeVisitor):
    """One pass over a module: scopes, imports, and the calls and name uses with the scope they stand in."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(None)
        self.aliases: dict[str, str] = {}
        self.functions: list[ast.FunctionDef] = []
        """Defined at module level (also within `if` or `try`)."""
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.uses: list[tuple[ast.Name, Scope, ast.FunctionDef | None]] = []
        """Names read, with the module-level function that they stand in."""
        self.annotations: dict[int, ast.expr] = {}
        """Annotation of `name: annotation = value`, by the id of the value's node."""
        self._scope = self.module
        self._function: ast.FunctionDef | None = None
        self._bound: set[int] = set()
        self.visit(tree)

    def dotted(self, node: ast.expr) -> str:
        """`tl.constexpr` as `triton.language.constexpr`, by the imports; "" for what is not a dotted name."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def is_triton(self, node: ast.expr, attribute: str) -> bool:
        """Whether an expression names Triton's `attribute`, however it was imported."""
        dotted = self.dotted(node)
        return dotted.startswith("triton.") and dotted.rsplit(".", 1)[-1] == attribute

    def is_constexpr(self, annotation: ast.expr | None) -> bool:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = syntax.parse_expression(annotation.value)
            except SyntaxError:
                return False
        return annotation is not None and self.is_triton(annotation, "constexpr")

    def origin(self, node: ast.expr, scope: Scope) -> Origin | None:
        """The one int literal that an expression always means, or None."""
        name: str | None = None
        for _ in range(8):  # a chain of names longer than this is a cycle
            if isinstance(node, ast.Constant):
                return Origin(node, node.value, name) if type(node.value) is int else None
            if isinstance(node, ast.Call) and self.is_triton(node.func, "constexpr") and len(node.args) == 1:
                node = node.args[0]
                continue
            if not isinstance(node, ast.Name):
                return None
            found = scope.lookup(node.id)
            if found is None or len(found[1]) != 1 or found[1][0] is None:
                return None
            name, scope, node = node.id, found[0], found[1][0]
        return None

    # --- the pass -------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._scope.bind(alias.asname or alias.name.split(".")[0], None)
            if alias.asname:
                self.aliases[alias.asname] = alias.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._scope.bind(alias.asname or alias.name, None)
            self.aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)
            self.annotations[id(node.value)] = node.annotation
        elif isinstance(node.target, ast.Name):
            self._bound.add(id(node.target))  # `x: int` alone binds nothing
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.append((node, self._scope, self._function))
        elif id(node) not in self._bound:
            self._scope.bind(node.id, None)

    def visit_Global(self, node: ast.Global) -> None:
        self._declare(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._declare(node.names)

    def _declare(self, names: list[str]) -> None:
        """`global` and `nonlocal`: the name may change anywhere from here outwards."""
        scope: Scope | None = self._scope
        while scope is not None:
            for name in names:
                scope.bind(name, None)
            scope = scope.parent

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._scope.bind(node.name, None)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._scope.bind(node.name, None)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._scope.bind(node.rest, None)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._scope.bind(node.name, None)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.calls.append((node, self._scope))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.bind(node.name, None)
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        self._inside(Scope(self._scope, is_class=True), node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if self._scope is not self.module:
            self._define(node)
            return
        self.functions.append(node)
        self._function = node
        self._define(node)
        self._function = None

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._define(node)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope.bind(node.name, None)
        for outside in (*node.decorator_list, node.args):
            self.visit(outside)
        self._inside(self._with_parameters(node.args), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._inside(self._with_parameters(node.args), [node.body])

    def _with_parameters(self, arguments: ast.arguments) -> Scope:
        scope = Scope(self._scope)
        extra = [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra):
            scope.bind(argument.arg, None)
        return scope

    def _inside(self, scope: Scope, body: list[ast.stmt] | list[ast.expr]) -> None:
        outer, self._scope = self._scope, scope
        for node in body:
            self.visit(node)
        self._scope = outer

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._scope.bind(target.id, value)
            self._bound.add(id(target))
        elif (
            isinstance(target, ast.Tuple | ast.List)
            and isinstance(value, ast.Tuple | ast.List)
            and len(target.elts) == len(value.elts)
            and not any(isinstance(element, ast.Starred) for element in (*target.elts, *value.elts))
        ):
            for inner_target, inner_value in zip(target.elts, value.elts, strict=True):
                self._bind(inner_target, inner_value)
