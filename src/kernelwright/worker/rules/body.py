"""Allow-list for the body and the signature of a kernel. Pure syntax.

The list covers syntax, names (arguments, locals, Triton, other kernels, constants) and attributes. On the trusted side
Triton's compiler calls, and its interpreter executes, any Python that a body refers to. A body may therefore refer only
to Triton's language.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.source.bindings import defaults_of
from kernelwright.worker.rules.bound_names import BoundNames, bound_names, clashes, looked_up
from kernelwright.worker.rules.imports import Finding, Imports
from kernelwright.worker.rules.language import CONSTANT_ATTRIBUTES, MODULES, VALUE_ATTRIBUTES, is_type, why_refused
from kernelwright.worker.rules.texts import check_texts

ALLOWED_BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "int", "float", "bool", "isinstance", "tuple", "True", "False", "None"}
)

ALLOWED_SYNTAX = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Pass, ast.Assert, ast.If, ast.For, ast.While,
    ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.keyword,
    ast.Starred, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.ListComp, ast.comprehension,
    ast.JoinedStr, ast.FormattedValue, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
"""Syntax that Triton's compiler reads (`visit_*` of CodeGenerator). The interpreter would run the rest as Python."""

SYNTAX_NAMES = {
    "ImportFrom": "import", "ClassDef": "class", "YieldFrom": "yield", "AsyncFor": "async for", "TryStar": "try",
    "AsyncWith": "async with", "AsyncFunctionDef": "async def", "FunctionDef": "nested function", "Delete": "del",
    "DictComp": "dict comprehension", "SetComp": "set comprehension", "GeneratorExp": "generator",
    "NamedExpr": "assignment inside an expression (:=)",
}  # fmt: skip
"""Names of `ast` classes in messages. A class that is missing here goes by its own name in lower case."""


@dataclass(frozen=True)
class Names:
    """Module-level names that a kernel may use. constants: those that some kernel uses, with their values."""

    imports: Imports
    kernels: frozenset[str]
    constants: Mapping[str, ast.expr]

    @property
    def known(self) -> frozenset[str]:
        imported = self.imports.modules.keys() | self.imports.leaves.keys()
        return ALLOWED_BUILTINS | imported | self.kernels | self.constants.keys()


def check_body(function: ast.FunctionDef, names: Names) -> list[Finding]:
    """Every rule that the body or the signature of a kernel breaks."""
    bound = bound_names(function)
    findings = [*_bindings(function, bound, names), *_defaults(function, names), *_unknown(function, bound, names)]
    findings += check_texts(function, names.imports, names.constants)
    types = _where_types_stand(function)
    bases = {id(n.value) for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    for node in (n for statement in function.body for n in ast.walk(statement)):
        line = getattr(node, "lineno", function.lineno)
        for rule in _rules(node, names):
            findings.append(Finding(line, rule))
        path = names.imports.dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if path in MODULES and id(node) not in bases:
            findings.append(Finding(line, f"a kernel body may not use the module {path} itself: write {path}.NAME"))
        elif path is not None and is_type(path) and id(node) not in types:
            findings.append(Finding(line, f"a kernel body may name {path} in isinstance() and in annotations only"))
    return findings


def is_constant(value: ast.expr, imports: Imports, known: set[str]) -> bool:
    """Whether `value` is a number, a string, a name of Triton such as a dtype, the name of another constant, or
    arithmetic, a tuple or `tl.constexpr` of constants."""
    match value:
        case ast.Constant():
            return True
        case ast.Name():
            return value.id in known or (value.id in imports.leaves and not is_type(imports.leaves[value.id]))
        case ast.UnaryOp():
            return is_constant(value.operand, imports, known)
        case ast.BinOp():
            return is_constant(value.left, imports, known) and is_constant(value.right, imports, known)
        case ast.Tuple():
            return all(is_constant(item, imports, known) for item in value.elts)
        case ast.Call(args=[argument], keywords=[]):
            return imports.dotted(value.func) == "triton.language.constexpr" and is_constant(argument, imports, known)
        case ast.Attribute():
            return _named_by_triton(value, imports) and not is_type(imports.dotted(value) or "")
        case _:
            return False


def is_annotation(value: ast.expr, imports: Imports, known: set[str]) -> bool:
    """Whether the annotation of an argument or a constant may stay: it is a constant or a type of Triton."""
    path = imports.dotted(value)
    if path is not None and is_type(path):
        return isinstance(value, ast.Name) or _named_by_triton(value, imports)
    return is_constant(value, imports, known)


def _named_by_triton(value: ast.expr, imports: Imports) -> bool:
    """Whether `value` is `module.name`, with an allowed module and a name (no module) that kernels may use."""
    module = imports.dotted(value.value) if isinstance(value, ast.Attribute) else None
    if module not in MODULES or not isinstance(value, ast.Attribute) or f"{module}.{value.attr}" in MODULES:
        return False
    return not why_refused(module, value.attr)


def _bindings(function: ast.FunctionDef, bound: BoundNames, names: Names) -> Iterator[Finding]:
    for name in sorted(bound.arguments & names.imports.all):
        yield Finding(function.lineno, f"the kernel {function.name!r} rebinds the module name {name!r}")
    module = names.imports.all | names.kernels | names.constants.keys()
    for clash in clashes(function, bound, module):
        if clash.name in module:
            yield Finding(clash.line, f"the kernel {function.name!r} rebinds the module name {clash.name!r}")
        else:
            yield Finding(clash.line, f"a kernel body may not use the name {clash.name!r} for a variable: rename it")


def _defaults(function: ast.FunctionDef, names: Names) -> Iterator[Finding]:
    for default in defaults_of(function.args).values():
        if not is_constant(default, names.imports, set(names.constants)):
            rule = "the default of a kernel's argument has to be a number, a string or a constant"
            yield Finding(default.lineno, rule)


def _unknown(function: ast.FunctionDef, bound: BoundNames, names: Names) -> Iterator[Finding]:
    for name in looked_up(function, bound):
        if name.id in names.known:
            continue
        why = names.imports.refused.get(name.id) or (
            "only its arguments, Triton, other @triton.jit functions of this file and tl.constexpr constants"
        )
        yield Finding(name.lineno, f"a kernel body may not use the name {name.id!r}: {why}")


def _rules(node: ast.AST, names: Names) -> Iterator[str]:
    """The rules that a single node breaks."""
    if not isinstance(node, ALLOWED_SYNTAX):
        kind = type(node).__name__
        yield f"a kernel body may not contain {SYNTAX_NAMES.get(kind, kind.lower())}"
    match node:
        case ast.Name(id=name) if name.startswith("__"):
            yield f"a kernel body may not use the name {name!r}"
        case ast.Attribute(ctx=ast.Load()):
            why = _attribute(node, names)
            if why is not None:
                yield f"a kernel body may not use the attribute {node.attr!r} here" + (f": {why}" if why else "")
        case ast.Attribute() | ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Starred(ctx=ast.Store()):
            yield f"a kernel body may assign to names only, not to {ast.unparse(node)!r}"
        case ast.AugAssign(target=target) | ast.For(target=target) | ast.comprehension(target=target) if not isinstance(
            target, ast.Name
        ):
            yield f"a kernel body may bind one name here, not {ast.unparse(target)!r}"
        case ast.AnnAssign(annotation=annotation) if not _is_plain_annotation(annotation, names):
            yield f"a kernel body may annotate with a type of Triton's only, not with {ast.unparse(annotation)!r}"
        case ast.keyword(arg=argument) if argument is None or argument.startswith("_"):
            yield f"a kernel body may not pass {'**' if argument is None else repr(argument)} to a function"
        case ast.Constant(value=bytes() | complex()):
            yield "a kernel body may not contain bytes or complex numbers"
        case _:
            pass
    match node:
        case ast.ListComp(generators=[_, _, *_]):
            yield "a comprehension in a kernel has one for: Triton compiles no other"
        case ast.comprehension(ifs=[_, *_]):
            yield "a comprehension in a kernel has no if: Triton's compiler leaves it out"
        case ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
            yield "a loop in a kernel has no else: Triton compiles none"
        case _:
            pass


def _attribute(node: ast.Attribute, names: Names) -> str | None:
    """Why an attribute may not be read ("" without a further reason), None if it may. Kernels may read
    CONSTANT_ATTRIBUTES of kernels and constants, and VALUE_ATTRIBUTES of values (arguments and results)."""
    if node.attr.startswith("_"):
        return ""
    path = names.imports.dotted(node.value)
    if path in MODULES:
        return why_refused(path, node.attr) or None
    objects = names.kernels | names.constants.keys()
    if path is not None or (isinstance(node.value, ast.Name) and node.value.id in objects):
        return None if node.attr in CONSTANT_ATTRIBUTES else ""
    return None if node.attr in VALUE_ATTRIBUTES else ""


def _is_plain_annotation(annotation: ast.expr, names: Names) -> bool:
    """Whether an annotation in a body only names a type. The compiler evaluates these annotations."""
    if isinstance(annotation, ast.Name):
        return annotation.id in ALLOWED_BUILTINS or annotation.id in names.imports.leaves
    if isinstance(annotation, ast.Constant):
        return isinstance(annotation.value, str)
    return _named_by_triton(annotation, names.imports)


def _where_types_stand(function: ast.FunctionDef) -> set[int]:
    """ids of the nodes in annotations and in the second argument of `isinstance`."""
    found: set[int] = set()
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(annotation=annotation):
                found.add(id(annotation))
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Tuple(elts=types)]):
                found |= {id(kind) for kind in types}
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
                found.add(id(kind))
            case _:
                pass
    return found
