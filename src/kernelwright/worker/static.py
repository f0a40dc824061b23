"""What a candidate's source may not contain, found by syntax before anything runs.

Replay makes most of these harmless; they are refused because people read and ship the source. Each finding names a
line and a rule in words that a model can act on.
"""

from __future__ import annotations

import ast

from kernelwright.worker.extract import Finding, jit_decorator

ALLOWED_MODULES = ("torch", "torch.nn", "torch.nn.functional", "triton", "triton.language", "math", "typing",
                   "__future__", "collections.abc", "dataclasses", "functools", "triton.language.extra",
                   "triton.language.extra.libdevice", "triton.language.extra.cuda",
                   "triton.language.extra.cuda.libdevice", "triton.language.math",
                   "triton.tools.tensor_descriptor", "triton.runtime", "triton.testing")  # fmt: skip
"""What a candidate may import: the framework's containers and shapes, Triton, and arithmetic."""

FORBIDDEN_CALLS = frozenset({"exec", "eval", "compile", "open", "__import__", "globals", "locals", "vars", "input",
                             "setattr", "delattr", "breakpoint", "memoryview", "id"})  # fmt: skip

FORBIDDEN_ATTRIBUTES = frozenset({"data_ptr", "untyped_storage", "storage", "set_", "item", "tolist", "numpy", "cpu",
                                  "Stream", "ExternalStream", "CUDAGraph", "compile", "ops", "_C"})  # fmt: skip

STATE_CALLS = frozenset({"lru_cache", "cache", "cached_property"})


def check(source: str) -> list[Finding]:
    """Every rule that the host code of `source` breaks, by line; raises SyntaxError where it does not parse."""
    tree = ast.parse(source)
    jitted = [n for n in tree.body if isinstance(n, ast.FunctionDef) and jit_decorator(n)]
    in_kernels = {id(node) for function in jitted for stmt in function.body for node in ast.walk(stmt)}
    findings = [finding for node in ast.walk(tree) if id(node) not in in_kernels for finding in _node(node)]
    for statement in tree.body:
        findings += _module_level(statement)
    return sorted(set(findings), key=lambda finding: (finding.line, finding.rule))


def _node(node: ast.AST) -> list[Finding]:
    match node:
        case ast.Import(names=names):
            wrong = [a.name for a in names if a.name not in ALLOWED_MODULES]
            return [
                Finding(node.lineno, f"imports {name}; allowed: {', '.join(ALLOWED_MODULES[:5])}") for name in wrong
            ]
        case ast.ImportFrom(module=module, level=level):
            if level or module not in ALLOWED_MODULES:
                return [Finding(node.lineno, f"imports from {module}; allowed: {', '.join(ALLOWED_MODULES[:5])}")]
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
            return [Finding(node.lineno, f"calls {name}(); host code may only allocate, view, copy, cast and launch")]
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in STATE_CALLS:
            return [Finding(node.lineno, f"uses {name}: nothing may be kept between calls")]
        case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES:
            return [Finding(node.lineno, f"uses .{name}: host code may depend on shapes only and compute nothing")]
        case ast.Attribute(attr=name) if name.startswith("__") and name != "__init__":
            return [Finding(node.lineno, f"uses the special attribute {name}")]
        case ast.Global() | ast.Nonlocal():
            return [Finding(node.lineno, "keeps state between calls through global or nonlocal")]
        case ast.Try():
            return [Finding(node.lineno, "catches exceptions: a failure has to be seen, not replaced by a fallback")]
        case ast.AsyncFunctionDef():
            return [Finding(node.lineno, "uses async code")]
    return []


def _module_level(statement: ast.stmt) -> list[Finding]:
    """Module-level containers can hold results from one call for the next."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return []
    value = statement.value
    configs = (
        isinstance(value, ast.List)
        and value.elts
        and all(isinstance(e, ast.Call) and ast.unparse(e.func).endswith("Config") for e in value.elts)
    )
    if isinstance(value, ast.Dict | ast.Set | ast.List) and not configs:
        return [Finding(statement.lineno, "a module-level container could keep results between calls; use a tuple, or "
                                          "write the values where they are used")]  # fmt: skip
    return []
