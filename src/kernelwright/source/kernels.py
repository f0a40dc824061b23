"""The `@triton.jit` kernels of a module and their launches, read from the AST.

`jit_functions` decides which functions are kernels, for the tuner and for the worker's rules alike. The tuner skips a
kernel that another decorator than Triton's changes, or that is defined twice (`read_kernels`); the rules refuse it.
`tunables.py` decides which numbers of a kernel are tunables.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from kernelwright.source.bindings import callee, defaults_of, dotted, imported_paths, names_in, parameters_of
from kernelwright.source.names import SMALLEST_DOT_SIDE
from kernelwright.source.scopes import Reader, Scope

DOTS = frozenset({"dot", "dot_scaled"})

JIT = "triton.jit"
AUTOTUNE = "triton.autotune"
HEURISTICS = "triton.heuristics"
DECORATORS = (JIT, AUTOTUNE, HEURISTICS)
"""Decorators that a kernel may have. Any other decorator could replace its code."""

JIT_SPELLINGS = ("triton.jit", "jit")
"""Spellings of `@triton.jit`. A decorator with such a text counts as it, whatever its names are bound to. The rules
refuse other spellings, and lookalikes that are not Triton's."""


@dataclass(frozen=True)
class Decorator:
    """A decorator of a function. named: the decorator without its arguments. path: its full name, None where it is not
    imported."""

    node: ast.expr
    named: ast.expr
    path: str | None

    @property
    def text(self) -> str:
        return ast.unparse(self.named)

    @property
    def call(self) -> ast.Call | None:
        return self.node if isinstance(self.node, ast.Call) else None

    @property
    def is_jit(self) -> bool:
        return self.path == JIT or self.text in JIT_SPELLINGS


@dataclass(frozen=True)
class JitFunction:
    """A module-level function under `@triton.jit`. parameters: whether each is a constexpr, by name."""

    node: ast.FunctionDef
    decorators: tuple[Decorator, ...]
    parameters: dict[str, bool]

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def jit_keywords(self) -> list[ast.keyword]:
        """The keyword arguments of `@triton.jit`."""
        call = next(decorator.call for decorator in self.decorators if decorator.is_jit)
        return call.keywords if call else []


def jit_functions(tree: ast.Module) -> list[JitFunction]:
    """The kernels of a module: functions at its top level, not within `if`, `try`, a class or a function."""
    paths = imported_paths(tree)
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            decorators = tuple(_decorator(decorator, paths) for decorator in node.decorator_list)
            if any(decorator.is_jit for decorator in decorators):
                parameters = {a.arg: is_constexpr(a.annotation, paths) for a in parameters_of(node.args)}
                found.append(JitFunction(node, decorators, parameters))
    return found


def host_code(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a module except its kernels."""
    kernels = {id(function.node) for function in jit_functions(tree)}
    return [node for node in tree.body if id(node) not in kernels]


def in_kernels(tree: ast.Module) -> set[int]:
    """ids of the AST nodes in the bodies of a module's kernels."""
    bodies = (statement for function in jit_functions(tree) for statement in function.node.body)
    return {id(node) for statement in bodies for node in ast.walk(statement)}


def _decorator(node: ast.expr, paths: Mapping[str, str]) -> Decorator:
    named = callee(node)
    return Decorator(node, named, dotted(named, paths))


def is_constexpr(annotation: ast.expr | None, paths: Mapping[str, str]) -> bool:
    """Whether Triton treats a parameter with this annotation as a constexpr, by its text or its full name. paths: full
    names by imported names."""
    if annotation is None:
        return False
    return "constexpr" in ast.unparse(annotation) or dotted(annotation, paths) == "triton.language.constexpr"


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be tuned. parameters: those that can be passed by position. pipelined: whether it, or a
    function that it calls, may load in a loop."""

    node: ast.FunctionDef
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    defaults: dict[str, ast.expr]
    computed: frozenset[str] | None
    """Parameters that `triton.heuristics` sets; None where they cannot be read."""
    autotuned: ast.Call | None
    smallest_block: int
    pipelined: bool = True

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True)
class LaunchCall:
    """A call `kernel[grid](...)`. opaque: whether it has `*` or `**` arguments, which may contain any argument."""

    kernel: Kernel
    call: ast.Call
    grid: ast.expr
    scope: Scope
    given: dict[str, ast.expr]
    opaque: bool


def read_kernels(reader: Reader) -> dict[str, Kernel]:
    """The tunable kernels by name, without those that are bound twice or have an unknown decorator."""
    kernels: dict[str, Kernel] = {}
    for function in jit_functions(reader.tree):
        if len(reader.module.bindings[function.name]) == 1 and (kernel := read_kernel(reader, function)) is not None:
            kernels[function.name] = kernel
    return kernels


def read_kernel(reader: Reader, function: JitFunction) -> Kernel | None:
    node, autotuned, computed = function.node, None, frozenset[str]()
    readable = True
    for decorator in function.decorators:
        if decorator.path == AUTOTUNE and decorator.call is not None:
            autotuned = decorator.call
        elif decorator.path == HEURISTICS and decorator.call is not None:
            keys = heuristic_names(decorator.call)
            readable = readable and keys is not None
            computed |= keys or frozenset()
        elif decorator.path != JIT:
            return None
    has_dot = any(
        isinstance(part, ast.Call) and (reader.is_triton(part.func, "dot") or reader.is_triton(part.func, "dot_scaled"))
        for part in ast.walk(node)
    )
    return Kernel(
        node=node,
        parameters=tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args)),
        constexprs=frozenset(name for name, constexpr in function.parameters.items() if constexpr),
        defaults=defaults_of(node.args),
        computed=computed if readable else None,
        autotuned=autotuned,
        smallest_block=SMALLEST_DOT_SIDE if has_dot else 1,
        pipelined=node.name in functions_with_pipelined_loops(reader),
    )


def heuristic_names(call: ast.Call) -> frozenset[str] | None:
    """The parameters that `triton.heuristics` sets; None where its dict is not a literal."""
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "values")]
    if len(values) != 1 or not isinstance(values[0], ast.Dict):
        return None
    names = [key.value for key in values[0].keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return frozenset(names) if len(names) == len(values[0].keys) else None


def read_launch(reader: Reader, kernels: dict[str, Kernel], call: ast.Call, scope: Scope) -> LaunchCall | None:
    """`call` as a launch of one of the module's kernels; None where it is not one."""
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
    return LaunchCall(kernel, call, call.func.slice, scope, given, opaque)


def functions_with_pipelined_loops(reader: Reader) -> Set[str]:
    """The module-level functions with a loop that Triton pipelines by the launch option `num_stages` (the number of
    iterations whose loads are in flight at once), and the functions that call them: a `for` loop that loads and has a
    `dot`, also in called functions. Others have as many stages as their `tl.range` says (PTX of Triton 3.7 for sm_80,
    sm_90 and sm_100 is the same with any number). A `static_range` is unrolled and does not count as a loop."""
    functions = [node for node in reader.tree.body if isinstance(node, ast.FunctionDef)]
    loading, multiplying = (
        _and_callers(functions, lambda node, names=names: bool(_called(reader, node) & names))  # type: ignore[misc]
        for names in ({"load"}, DOTS)
    )
    return _and_callers(functions, lambda node: any(
        _has(reader, loop, {"load"}, loading) and _has(reader, loop, DOTS, multiplying)
        for loop in ast.walk(node) if isinstance(loop, ast.For) and not _is_unrolled(reader, loop)
    ))  # fmt: skip


def _and_callers(functions: list[ast.FunctionDef], has: Callable[[ast.FunctionDef], bool]) -> Set[str]:
    """The names of functions for which `has` is true, and of functions that refer to one of them."""
    found = {node.name for node in functions if has(node)}
    while more := {node.name for node in functions if node.name not in found and names_in(node) & found}:
        found |= more
    return found


def _is_unrolled(reader: Reader, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and reader.is_triton(loop.iter.func, "static_range")


def _has(reader: Reader, node: ast.AST, names: Set[str], functions: Set[str]) -> bool:
    """Whether `node` calls a function of one of these names (`load` also of a descriptor), or refers to one of
    `functions`."""
    return bool(_called(reader, node) & names) or bool(names_in(node) & functions)


def _called(reader: Reader, node: ast.AST) -> Set[str]:
    """The last parts of the names of called functions."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return {(dotted(function, reader.paths) or ast.unparse(function)).rpartition(".")[2] for function in called}
