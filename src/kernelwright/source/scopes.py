"""Name resolution on the AST: the value behind a name.

It resolves only names that are bound exactly once, to an int. A binding that cannot be read counts as a binding, so its
name is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.source.bindings import bindings, dotted, imported_paths, parameters_of, targets_of


@dataclass(eq=False)
class Scope:
    """The names that a module, class, function or lambda binds, each with its expression where there is one."""

    parent: Scope | None
    is_class: bool = False
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=dict)

    def bind(self, name: str, value: ast.expr | None) -> None:
        self.bindings.setdefault(name, []).append(value)

    def lookup(self, name: str) -> tuple[Scope, list[ast.expr | None]] | None:
        """The scope where Python would find `name` from here. Names in class bodies are not visible in methods."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope, scope.bindings[name]
            scope = scope.parent
        return None

    def value_of(self, name: str) -> tuple[Scope, ast.expr] | None:
        """The scope and the value of a name that is bound once; None where there is no single one."""
        match self.lookup(name):
            case (scope, [ast.expr() as value]):
                return scope, value
            case _:
                return None


@dataclass(frozen=True)
class Origin:
    """The int literal behind an expression, and the name bound to it (None: the literal is written in place)."""

    node: ast.Constant
    value: int
    name: str | None


class Reader(ast.NodeVisitor):
    """One pass over a module. It collects scopes, and the calls and name uses with their scopes."""

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
        """Whether an expression refers to Triton's `attribute`, under any import."""
        path = dotted(node, self.paths) or ""
        return path.startswith("triton.") and path.rsplit(".", 1)[-1] == attribute

    def origin(self, node: ast.expr, scope: Scope) -> Origin | None:
        """The single int literal that an expression stands for; None where there is none."""
        name: str | None = None
        for _ in range(8):  # a chain of names longer than this is a cycle
            if isinstance(node, ast.Constant):
                return Origin(node, node.value, name) if type(node.value) is int else None
            if isinstance(node, ast.Call) and self.is_triton(node.func, "constexpr") and len(node.args) == 1:
                node = node.args[0]
                continue
            if not isinstance(node, ast.Name):
                return None
            found = scope.value_of(node.id)
            if found is None:
                return None
            name, (scope, node) = node.id, found
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
        """`global` and `nonlocal`: the name may change in this scope and all outer ones."""
        scope: Scope | None = self._scope
        while scope is not None:
            for name in names:
                scope.bind(name, None)
            scope = scope.parent

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Binds its variables in the surrounding scope too, so that a name which also means them is unknown."""
        for name in targets_of(node):
            self._scope.bind(name, None)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Binds the target here too: `bindings` does not look into annotations of parameters."""
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
        """Visit a body after binding its names in `scope`."""
        outer, self._scope = self._scope, scope
        for binding in (binding for node in body for binding in bindings(node)):
            if not binding.declared:
                scope.bind(binding.name, binding.value)
        for node in body:
            self.visit(node)
        self._scope = outer
