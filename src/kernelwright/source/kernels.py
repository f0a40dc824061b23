"""The `@triton.jit` kernels of a module and the calls that launch them, read off the syntax tree.

Which of their numbers are tunables is `find.py`. The one rule: a kernel that anything but Triton decorates, or
that is defined twice, is not read at all.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelwright.source.names import SMALLEST_DOT_SIDE
from kernelwright.source.scopes import Reader, Scope


@dataclass(frozen=True)
class Kernel:
    """A `@triton.jit` function of the module."""

    node: ast.FunctionDef
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    defaults: dict[str, ast.expr]
    computed: frozenset[str] | None
    """Set by `triton.heuristics`; None where that cannot be read."""
    autotuned: ast.Call | None
    smallest_block: int

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True)
class Launch:
    """A call `kernel[grid](...)`. opaque: `*` or `**` in it may hold any argument."""

    kernel: Kernel
    call: ast.Call
    grid: ast.expr
    scope: Scope
    given: dict[str, ast.expr]
    opaque: bool


def read_kernels(reader: Reader) -> dict[str, Kernel]:
    """The kernels by name; one that is bound twice, or wrapped by an unknown decorator, is left out."""
    kernels: dict[str, Kernel] = {}
    for node in reader.functions:
        if len(reader.module.bindings[node.name]) == 1 and (kernel := read_kernel(reader, node)) is not None:
            kernels[node.name] = kernel
    return kernels


def read_kernel(reader: Reader, node: ast.FunctionDef) -> Kernel | None:
    jitted, autotuned, computed = False, None, frozenset[str]()
    readable = True
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        called = call.func if call is not None else decorator
        if reader.is_triton(called, "jit"):
            jitted = True
        elif reader.is_triton(called, "autotune") and call is not None:
            autotuned = call
        elif reader.is_triton(called, "heuristics") and call is not None:
            keys = heuristic_names(call)
            readable = readable and keys is not None
            computed |= keys or frozenset()
        else:
            return None
    if not jitted:
        return None
    arguments = (*node.args.posonlyargs, *node.args.args)
    every = (*arguments, *node.args.kwonlyargs)
    defaults = dict(zip([a.arg for a in arguments][::-1], node.args.defaults[::-1], strict=False))
    defaults |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    has_dot = any(
        isinstance(part, ast.Call) and (reader.is_triton(part.func, "dot") or reader.is_triton(part.func, "dot_scaled"))
        for part in ast.walk(node)
    )
    return Kernel(
        node=node,
        parameters=tuple(a.arg for a in arguments),
        constexprs=frozenset(a.arg for a in every if reader.is_constexpr(a.annotation)),
        defaults=defaults,
        computed=computed if readable else None,
        autotuned=autotuned,
        smallest_block=SMALLEST_DOT_SIDE if has_dot else 1,
    )


def heuristic_names(call: ast.Call) -> frozenset[str] | None:
    """The parameters that `triton.heuristics` sets, or None where its dict is not written out."""
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "values")]
    if len(values) != 1 or not isinstance(values[0], ast.Dict):
        return None
    names = [key.value for key in values[0].keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return frozenset(names) if len(names) == len(values[0].keys) else None


def read_launch(reader: Reader, kernels: dict[str, Kernel], call: ast.Call, scope: Scope) -> Launch | None:
    """`call` as a launch of one of the module's kernels, or None."""
    if not isinstance(call.func, ast.Subscript) or not isinstance(call.func.value, ast.Name):
        return None
    name = call.func.value.id
    found = scope.lookup(name)
    if name not in kernels or found is None or found[0] is not reader.module:
        return None
    kernel = kernels[name]
    given: dict[str, ast.expr] = {}
    opaque = any(keyword.arg is None for keyword in call.keywords)
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            opaque = True
            break
        if index < len(kernel.parameters):
            given[kernel.parameters[index]] = argument
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return Launch(kernel, call, call.func.slice, scope, given, opaque)
