"""A candidate's kernels, taken out of its source by syntax alone.

The result is the only code of a candidate that ever meets data. It is built from the AST: imports of Triton,
constants, and functions under `@triton.jit` whose bodies pass an allow-list. Nothing is executed here.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

ALLOWED_IMPORTS = ("triton", "triton.language", "triton.language.extra", "triton.language.extra.cuda",
                   "triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice",
                   "triton.language.math")  # fmt: skip
"""Modules that kernels may use. None of them runs host code, reads files or keeps state."""

ALLOWED_BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "int", "float", "bool", "isinstance", "tuple", "True", "False", "None"}
)

FORBIDDEN_NODES = {
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.ClassDef: "class", ast.Lambda: "lambda", ast.Try: "try", ast.Raise: "raise", ast.Yield: "yield",
    ast.YieldFrom: "yield", ast.Await: "await", ast.AsyncFor: "async for", ast.AsyncWith: "async with",
    ast.AsyncFunctionDef: "async def", ast.Delete: "del", ast.DictComp: "dict comprehension",
    ast.SetComp: "set comprehension", ast.GeneratorExp: "generator",
}  # fmt: skip
"""Python that no Triton kernel needs; the CPU interpreter would execute it as ordinary Python."""

FORBIDDEN_ATTRIBUTES = frozenset({"core", "semantic", "standard", "target_info", "runtime", "compiler", "tools",
                                  "builtins", "knobs", "driver", "constexpr_function"})  # fmt: skip
"""Submodules reachable from `triton.language` through which a body could leave it."""


@dataclass(frozen=True)
class Finding:
    """A rule that a source breaks, at a line (1-based)."""

    line: int
    rule: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}"


@dataclass(frozen=True)
class Kernels:
    """The extracted module text and the names of its kernels, or why there is none."""

    source: str
    names: tuple[str, ...]
    findings: tuple[Finding, ...]


def extract(source: str) -> Kernels:
    """Take the kernels out of a candidate's source; raises SyntaxError where it does not parse."""
    tree = ast.parse(source)
    imports = [kept for node in tree.body for kept in _kernel_imports(node)]
    aliases = {name for node in imports for name in _bound_names(node)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and jit_decorator(node)]
    names = [function.name for function in functions]
    findings = [Finding(f.lineno, f"the kernel {f.name!r} is defined more than once")
                for i, f in enumerate(functions) if f.name in names[:i]]  # fmt: skip
    findings += _rebinds(tree, set(names))
    constants = {name: node for node in tree.body for name in _constant_names(node)}
    known = aliases | set(names) | set(constants) | ALLOWED_BUILTINS
    for function in functions:
        findings += check_body(function, known, aliases)
    used = {node.id for function in functions for node in ast.walk(function) if isinstance(node, ast.Name)}
    body: list[ast.stmt] = [ast.Import(names=[ast.alias(name="triton")]), *imports]
    body += [node for node in tree.body if used & set(_constant_names(node))]
    body += [_bare(function) for function in functions]
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))) + "\n"
    return Kernels(source=text, names=tuple(names), findings=tuple(findings))


def jit_decorator(function: ast.FunctionDef) -> ast.expr | None:
    """The `@triton.jit` (or `@jit`) decorator of a function, None when it has none."""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(target) in ("triton.jit", "jit"):
            return decorator
    return None


def check_body(function: ast.FunctionDef, known: set[str], modules: set[str]) -> list[Finding]:
    """What a kernel's body (and signature) does that no kernel may."""
    local = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    local |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    findings = [
        Finding(function.lineno, f"the kernel {function.name!r} rebinds the module name {name!r}")
        for name in sorted(local & modules)
    ]
    inner = [child for child in ast.iter_child_nodes(function) if child not in function.decorator_list]
    for node in (n for child in inner for n in ast.walk(child)):
        line = getattr(node, "lineno", function.lineno)
        if type(node) in FORBIDDEN_NODES or isinstance(node, ast.FunctionDef):
            what = FORBIDDEN_NODES.get(type(node), "nested function")
            findings.append(Finding(line, f"a kernel body may not contain {what}"))
        elif isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in FORBIDDEN_ATTRIBUTES):
            findings.append(Finding(line, f"a kernel body may not use the attribute {node.attr!r}"))
        elif isinstance(node, ast.Name) and node.id not in known | local:
            findings.append(
                Finding(line, f"a kernel body may not use the name {node.id!r}: only its arguments, Triton, other "
                              "@triton.jit functions of this file and tl.constexpr constants")
            )  # fmt: skip
    return findings


def _kernel_imports(node: ast.stmt) -> list[ast.stmt]:
    """What a statement imports for kernels: the allowed names of it, as a statement of their own."""
    if isinstance(node, ast.Import):
        names = [alias for alias in node.names if alias.name in ALLOWED_IMPORTS]
        return [ast.Import(names=names)] if names else []
    if not isinstance(node, ast.ImportFrom) or node.level or node.module not in ALLOWED_IMPORTS:
        return []
    whole = node.module in ("triton", "triton.language.extra", "triton.language.extra.cuda")
    names = [
        alias
        for alias in node.names
        if (f"{node.module}.{alias.name}" in ALLOWED_IMPORTS or alias.name == "jit" if whole else _public(alias.name))
    ]
    return [ast.ImportFrom(module=node.module, names=names, level=0)] if names else []


def _public(name: str) -> bool:
    return not name.startswith("_") and name not in FORBIDDEN_ATTRIBUTES and name != "*"


def _bound_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    return []


def _constant_names(node: ast.stmt) -> list[str]:
    """Names of a module-level constant: a literal number, a `tl.constexpr` of one, or an alias of a Triton dtype."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [node.target.id] if _is_constant(node.value) else []
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets) and _is_constant(node.value):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return []


def _is_constant(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return (ast.unparse(value.func) in ("tl.constexpr", "triton.language.constexpr", "constexpr")
                and len(value.args) == 1 and not value.keywords and _is_constant(value.args[0]))  # fmt: skip
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id == "tl" and not value.attr.startswith("_")
    allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    return all(isinstance(node, allowed) for node in ast.walk(value))


def _rebinds(tree: ast.Module, names: set[str]) -> list[Finding]:
    """Module-level bindings that would replace a kernel after its definition."""
    found = []
    for node in tree.body:
        targets = [t for t in ast.walk(node) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)]
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            found += [
                Finding(node.lineno, f"{t.id!r} is bound twice at module level") for t in targets if t.id in names
            ]
        elif node.name in names and not (isinstance(node, ast.FunctionDef) and jit_decorator(node)):
            found.append(Finding(node.lineno, f"{node.name!r} is bound twice at module level"))
    return found


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function under a plain `@triton.jit`, keeping only the decorator's literal keywords."""
    decorator = jit_decorator(function)
    keywords = [
        keyword for keyword in (decorator.keywords if isinstance(decorator, ast.Call) else [])
        if keyword.arg in ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")
    ]  # fmt: skip
    jit = ast.Attribute(value=ast.Name(id="triton", ctx=ast.Load()), attr="jit", ctx=ast.Load())
    plain = ast.Call(func=jit, args=[], keywords=keywords) if keywords else jit
    bare = copy.copy(function)
    bare.decorator_list, bare.returns = [plain], None
    return bare
