"""Extraction of a candidate's kernels from its source, by syntax alone.

The extracted module is the only code of a candidate that runs on data. It is built from the AST: imports of Triton,
constants, and functions under `@triton.jit` whose bodies pass an allow-list (`body`). Extraction executes nothing. An
import of the extracted module evaluates only constants and `@triton.jit`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import assigned_targets, bindings, names_in
from kernelwright.source.kernels import DECORATORS, JIT_SPELLINGS, JitFunction, is_constexpr, jit_functions
from kernelwright.source.parse import copied
from kernelwright.worker.rules.body import Names, check_body, is_annotation, is_constant
from kernelwright.worker.rules.bound_names import INTERPRETER_NAMES, names_of_module
from kernelwright.worker.rules.imports import Finding, Imports, allowed_imports
from kernelwright.worker.rules.reading import misread

KEPT_KEYWORDS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")
"""Keywords of `@triton.jit` that change the compiled code. Others are left out."""

READ_BY_INTERPRETER = ("tl.constexpr", "constexpr")
"""Spellings of a constexpr annotation that Triton's interpreter knows: it compares texts. The compiler knows others."""


@dataclass(frozen=True)
class Kernels:
    """The source of the extracted module. parameters: for each kernel, whether each parameter is a constexpr.
    serves_dense: whether the candidate declares that it supports dense inputs only (`triton.SERVES`)."""

    source: str
    parameters: dict[str, dict[str, bool]]
    findings: tuple[Finding, ...]
    serves_dense: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.parameters)


def extract(source: str) -> Kernels:
    """Extract the kernels of a candidate's source; raises SyntaxError if it does not parse."""
    tree = syntax.parse(source)
    imports = allowed_imports(tree)
    jitted = jit_functions(tree)
    functions = [function.node for function in jitted]
    kernels = {function.name for function in functions}
    constants: dict[str, ast.Assign | ast.AnnAssign] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            constants |= dict.fromkeys(_constant_names(node, imports, set(constants)), node)
    used = _used(functions, constants)
    names = Names(imports, frozenset(kernels), {name: value_of(constants[name]) for name in used})
    findings = _bound_twice(tree, kernels | used | imports.all)
    findings += _taken(tree, (kernels | used | imports.all) & INTERPRETER_NAMES)
    findings += misread(source, jitted)
    for function in jitted:
        findings += _decorated(function, imports)
        findings += check_body(function.node, names)
    body: list[ast.stmt] = [ast.Import(names=[ast.alias(name="triton")]), *imports.statements]
    kept = {id(node): node for name, node in constants.items() if name in used}
    body += [_plain(node, imports) for node in kept.values()]
    bare = [_bare(function, imports, set(constants)) for function in jitted]
    findings += [finding for function in bare for finding in _one_definition(function)]
    if any(isinstance(a, ast.arg) and _named(a) == "constexpr" for function in bare for a in ast.walk(function.args)):
        body.insert(1, ast.ImportFrom(module="triton.language", names=[ast.alias(name="constexpr")], level=0))
    body += bare
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))) + "\n"
    parameters = {function.name: function.parameters for function in jitted}
    return Kernels(source=text, parameters=parameters, findings=tuple(sorted(set(findings))))


def _constant_names(node: ast.Assign | ast.AnnAssign, imports: Imports, known: set[str]) -> list[str]:
    """Names that an assignment binds to a constant (`is_constant`); [] if its value is no constant."""
    targets = assigned_targets(node)
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if node.value is None or len(names) != len(targets) or not is_constant(node.value, imports, known):
        return []
    return names


def value_of(node: ast.Assign | ast.AnnAssign) -> ast.expr:
    """The assigned expression of a module-level constant."""
    assert node.value is not None  # _constant_names took no other
    return node.value


def _plain(node: ast.Assign | ast.AnnAssign, imports: Imports) -> ast.stmt:
    """The assignment, without its annotation if that is not an allowed one."""
    if isinstance(node, ast.Assign) or is_annotation(node.annotation, imports, set()):
        return node
    return ast.Assign(targets=[node.target], value=value_of(node))


def _used(functions: list[ast.FunctionDef], constants: dict[str, ast.Assign | ast.AnnAssign]) -> set[str]:
    """Constants that kernels look up, and the constants that these refer to."""
    used: set[str] = set()
    found = names_of_module(functions) & set(constants)
    while found - used:
        used |= found
        found = {name for constant in used for name in names_in(constants[constant])} & set(constants)
    return used


def _bound_twice(tree: ast.Module, names: set[str]) -> list[Finding]:
    """Findings for names of the kernels that module-level code binds to different things."""
    seen: dict[str, object] = {}
    found = []
    for binding in bindings(tree):
        if binding.name in names and seen.setdefault(binding.name, binding.what) != binding.what:
            found.append(Finding(binding.line, f"{binding.name!r} is bound more than once at module level"))
    return found


def _taken(tree: ast.Module, names: set[str]) -> list[Finding]:
    """Findings for bindings of names that Triton's interpreter uses when it rewrites a kernel."""
    rule = "the name {!r} is reserved for Triton's interpreter; rename it"
    return [Finding(b.line, rule.format(b.name)) for b in bindings(tree) if b.name in names]


def _one_definition(function: ast.FunctionDef) -> list[Finding]:
    """A finding if a string in the kernel has a line that begins with `def`: the interpreter would start there."""
    lines = ast.unparse(ast.fix_missing_locations(function)).splitlines()
    if sum(line.strip().startswith("def ") for line in lines) == 1:
        return []
    return [Finding(function.lineno, f"a text in the kernel {function.name!r} has a line 'def …'; reword that line")]


def _decorated(function: JitFunction, imports: Imports) -> list[Finding]:
    """Findings for decorators that are not Triton's, and for keywords of `@triton.jit` that are not literals."""
    found = []
    for decorator in function.decorators:
        text, line = decorator.text, decorator.node.lineno
        is_known = imports.dotted(decorator.named) in DECORATORS
        if is_known and decorator.is_jit and text not in JIT_SPELLINGS:
            found.append(Finding(line, f"the decorator {text!r} is triton.jit under another name; write @triton.jit"))
        elif not is_known and text in JIT_SPELLINGS:
            found.append(Finding(line, f"{text.partition('.')[0]!r} does not name Triton here; import it as usual"))
        elif not is_known:
            found.append(Finding(line, f"the decorator {text!r} on a kernel; allowed: {', '.join(DECORATORS)}"))
    if getattr(function.node, "type_params", None):  # Python 3.12
        rule = f"the kernel {function.name!r} has type parameters, which Triton does not support; remove them"
        found.append(Finding(function.node.lineno, rule))
    for keyword in function.jit_keywords:
        if keyword.arg in KEPT_KEYWORDS and not _is_literal(keyword.value):
            found.append(Finding(keyword.value.lineno, f"{keyword.arg} has to be a literal"))
    return found


def _is_literal(value: ast.expr) -> bool:
    return all(isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Load) for node in ast.walk(value))


def _bare(function: JitFunction, imports: Imports, constants: set[str]) -> ast.FunctionDef:
    """The function under a plain `@triton.jit`, without docstrings and without code that runs at its definition."""
    bare = copied(function.node)
    _WithoutTexts().generic_visit(bare)
    keywords = [keyword for keyword in function.jit_keywords if keyword.arg in KEPT_KEYWORDS]
    jit = ast.Attribute(value=ast.Name(id="triton", ctx=ast.Load()), attr="jit", ctx=ast.Load())
    bare.decorator_list = [ast.Call(func=jit, args=[], keywords=keywords) if keywords else jit]
    bare.returns = None
    for argument in (node for node in ast.walk(bare.args) if isinstance(node, ast.arg)):
        if is_constexpr(argument.annotation, imports.paths):
            if ast.unparse(argument.annotation or argument) not in READ_BY_INTERPRETER:
                argument.annotation = ast.Name(id="constexpr", ctx=ast.Load())
        elif argument.annotation is not None and not is_annotation(argument.annotation, imports, constants):
            argument.annotation = None
    return bare


class _WithoutTexts(ast.NodeTransformer):
    """Replaces statements that are only a constant (docstrings): the interpreter searches their lines for code."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return ast.Pass() if isinstance(node.value, ast.Constant) else node


def _named(argument: ast.arg) -> str | None:
    return argument.annotation.id if isinstance(argument.annotation, ast.Name) else None
