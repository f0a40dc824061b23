"""Names of Triton's own sources in functions that were copied from there: a step of the normal form. Pure syntax.

`triton.language` does not show these names, and the rules refuse them, because their modules also hold host code. Each
is replaced by its value or by what it returns.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from kernelwright.source.bindings import bound_values, dotted, imported, imported_name, imported_paths
from kernelwright.source.edits import Edit
from kernelwright.worker.rules.constexprs import DECORATORS, Formula, called, formula_of
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.language import MODULES

LANGUAGE = "triton.language"
STANDARD = f"{LANGUAGE}.standard"

OF_SOURCES = frozenset({"triton.runtime.jit.jit", "triton.runtime.jit.constexpr_function", "triton.runtime.jit"})
"""Decorators by the names under which Triton's sources import them. `triton` has them, too."""

COMPILE_TIME = DECORATORS | {"triton.runtime.jit.constexpr_function"}


def _named(*names: str) -> frozenset[str]:
    """Full names of what a module of Triton's language has: `spelling` renames some of these modules."""
    return frozenset(f"{LANGUAGE}{part}.{name}" for part in ("", ".core", ".math") for name in names)


DESCRIBED = _named("_tensor_member_fn", "_add_math_1arg_docstr", "_add_math_2arg_docstr", "_add_math_3arg_docstr",
                   "_add_scan_docstr", "_add_reduction_docstr", "_add_atomic_docstr")  # fmt: skip
"""Decorators, with any arguments, that write docstrings or make a function of Triton also a method of tensors."""

INT_DTYPE, UNWRAPPED, ZERO = _named("get_int_dtype"), _named("_unwrap_if_constexpr"), _named("CONSTEXPR_0")


def inner_names(tree: ast.Module) -> list[Edit]:
    """Replace calls of `get_int_dtype` by the dtype, `_unwrap_if_constexpr(x)` by x, `CONSTEXPR_0` by 0, and by imports
    decorators OF_SOURCES and compile-time functions with a name of STANDARD, which a kernel may import."""
    paths = imported_paths(tree)
    language = imported_name(LANGUAGE, paths)
    dtypes = {name for name, values in bound_values(tree).items()
              if all(_is_int_dtype(value, name, paths) for value in values)}  # fmt: skip
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
    found = [(node, _value(node, paths, dtypes, language)) for node in nodes]
    return [Edit(node, node, text) for node, text in found if text is not None]


def _is_int_dtype(value: ast.expr | None, name: str, paths: dict[str, str]) -> bool:
    """Whether a value of `name` is `get_int_dtype`, or what COMPILE_TIME makes of it or of `name` itself."""
    match value:
        case ast.Call(func=function, args=[ast.expr() as made], keywords=[]) if dotted(function, paths) in COMPILE_TIME:
            return getattr(made, "id", None) == name or _is_int_dtype(made, name, paths)
        case ast.expr():
            return dotted(value, paths) in INT_DTYPE
        case None:
            return False


def _value(node: ast.AST, paths: dict[str, str], dtypes: set[str], language: str | None) -> str | None:
    match node:
        case ast.ImportFrom() if any(found.path in OF_SOURCES for found in imported(node)):
            return "; ".join(_imports(node))
        case ast.FunctionDef(name=name, decorator_list=[above]) if (
            name in MODULES[STANDARD].allowed and dotted(above, paths) in COMPILE_TIME and is_installed(STANDARD, name)
        ):
            return f"from {STANDARD} import {name}"
        case ast.Call(func=function, args=[value], keywords=[]) if dotted(function, paths) in UNWRAPPED:
            return ast.unparse(value)
        case ast.Call(func=function) if dotted(function, paths) in INT_DTYPE or getattr(function, "id", "") in dtypes:
            made = called(node, _int_dtype(language)) if language else None
            return ast.unparse(_Taken().visit(made)) if made else None
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if dotted(node, paths) in ZERO:
            return "0"
    return None


def _imports(node: ast.ImportFrom) -> Iterator[str]:
    """The import of each name of `node`, of OF_SOURCES from `triton`."""
    for found in imported(node):
        module = "triton" if found.path in OF_SOURCES else node.module
        yield ast.unparse(ast.ImportFrom(module, [found.alias], node.level))


@functools.cache
def _int_dtype(language: str) -> Formula:
    """`get_int_dtype` as an expression. The function itself refuses other widths than these."""
    lines = ["def get_int_dtype(bitwidth, signed):", f"    if bitwidth == 1: return {language}.int1"]
    for kind, indent in (("int", "        "), ("uint", "    ")):
        lines += ["    if signed:"] * (kind == "int")
        lines += [f"{indent}if bitwidth == {width}: return {language}.{kind}{width}" for width in (8, 16, 32)]
        lines += [f"{indent}return {language}.{kind}64"]
    function = ast.parse("\n".join(lines)).body[0]
    assert isinstance(function, ast.FunctionDef)
    formula = formula_of(function)
    assert formula is not None
    return formula


class _Taken(ast.NodeTransformer):
    """Replaces a conditional expression whose condition is a literal by the side that is taken."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return (node.body if node.test.value else node.orelse) if isinstance(node.test, ast.Constant) else node
