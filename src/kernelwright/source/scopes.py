"""Name resolution on the syntax tree: where a name's value comes from.

It answers only for a name that is bound exactly once, to an int. A binding that it does not understand counts as one,
so that the name is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.source.bindings import bindings, dotted, imported_paths, parameters_of, targets_of


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
    """One pass over a module: its scopes, and the calls and name uses with the scope that contains them."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.module = Scope(None)
        self.paths = imported_paths(tree)
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.uses: list[tuple[ast.Name, Scope, ast.FunctionDef | None]] = []
        """Names read, with the module-level function that contains them."""
        self.annotations: dict[int, ast.expr] = {}
        """Annotation of `name: annotation = value`, by the id of the value's node."""
        self._scope = self.module
        self._function: ast.FunctionDef | None = None
        self._inside(self.module, tree.body)

    def is_triton(self, node: ast.expr, attribute: str) -> bool:
        """Whether an expression names Triton's `attribute`, however it was imported."""
        path = dotted(node, self.paths) or ""
        return path.startswith("triton.") and path.rsplit(".", 1)[-1] == attribute

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

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.annotations[id(node.value)] = node.annotation
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.append((node, self._scope, self._function))

    def visit_Call(self, node: ast.Call) -> None:
        self.calls.append((node, self._scope))
        self.generic_visit(node)

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

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Its variables count in the scope around it too: a name that also means them is read as unknown."""
        for name in targets_of(node):
            self._scope.bind(name, None)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Counted here as well as by `bindings`, which does not look into the annotations of parameters."""
        self._scope.bind(node.target.id, None)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        self._inside(Scope(self._scope, is_class=True), node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._function
        self._function = node if self._scope is self.module else outer
        self._define(node)
        self._function = outer

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._define(node)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outside in (*node.decorator_list, node.args):
            self.visit(outside)
        self._inside(self._with_parameters(node.args), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._inside(self._with_parameters(node.args), [node.body])

    def _with_parameters(self, arguments: ast.arguments) -> Scope:
        scope = Scope(self._scope)
        extra = [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
        for argument in (*parameters_of(arguments), *extra):
            scope.bind(argument.arg, None)
        return scope

    def _inside(self, scope: Scope, body: Sequence[ast.AST]) -> None:
        """Visit a body with the names that it binds known."""
        outer, self._scope = self._scope, scope
        for binding in (binding for node in body for binding in bindings(node)):
            if not binding.declared:
                scope.bind(binding.name, binding.value)
        for node in body:
            self.visit(node)
        self._scope = outer
