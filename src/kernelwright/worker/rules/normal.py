"""The normal form of a Triton candidate: its source without code that does nothing for its kernels. Pure syntax.

The normal form is the text that is judged, exported and written to `best_kernel.py`. A step may therefore change what
the original text would do elsewhere: the result is judged like any other candidate. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import (
    base_name,
    bound_names,
    bound_values,
    callee,
    dotted,
    evaluated,
    free_names,
    imported,
    imported_paths,
    names_in,
)
from kernelwright.source.branches import runs_as_script
from kernelwright.source.edits import Edit, block, edited, narrowed
from kernelwright.source.kernels import DECORATORS, in_kernels, jit_functions
from kernelwright.worker.rules.constexprs import constexpr_functions
from kernelwright.worker.rules.foreign import annotated, used, without_foreign
from kernelwright.worker.rules.guards import guards
from kernelwright.worker.rules.inner import DESCRIBED, inner_names
from kernelwright.worker.rules.lazy import in_every_call
from kernelwright.worker.rules.moved import moved
from kernelwright.worker.rules.nested import without_nested
from kernelwright.worker.rules.rebound import decorators
from kernelwright.worker.rules.scripts import scripts
from kernelwright.worker.rules.spelling import other_modules, other_names
from kernelwright.worker.rules.static import FORBIDDEN_CALLS, FORBIDDEN_NAMES

ENTRIES = frozenset({"kernel_function", "kernel_backward", "SAVED", "ModelNew", "SERVES"})
"""Module-level names that a worker looks for in a candidate."""

SILENT = frozenset({"logging", "warnings"})
"""Modules that only write messages. Statements that call them are removed."""

LOGGER = "logger"

WAITS = frozenset({"torch.cuda.synchronize", "torch.cuda.empty_cache"})
"""Functions that wait for the device or free unused memory. Results do not depend on them."""

SEEDS = frozenset({"torch.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
"""Functions that a constructor may call before it draws weights. A call gets the weights of the reference."""

PRINTS = frozenset({"triton.language.static_print"})

WRAPPERS = frozenset({"torch.library.wrap_triton"})

FOR_TRACERS = frozenset({"torch.compiler.disable", "torch.compiler.allow_in_graph", "torch._dynamo.disable"})
"""Decorators that only affect how `torch.compile` treats a function."""

REGISTERS = frozenset({"torch.library.triton_op", "torch.library.custom_op", "torch.library.impl", "torch.fx.wrap"})
"""Decorators, with any arguments, that register a function with PyTorch. A call of the function does the same without
them."""

REGISTERED = REGISTERS | DESCRIBED

CACHES = frozenset({"functools.lru_cache", "functools.cache"})

COMPUTES = frozenset(
    {"int", "float", "bool", "str", "min", "max", "abs", "round", "len", "tuple", "hasattr", "getattr"}
)
OF_TEXTS = frozenset({"lower", "upper", "startswith", "endswith", "split", "strip"})
"""Builtins, and methods of texts, by which an answer depends on nothing else."""

MOST_ROUNDS = 20
"""Limit on the rounds of all steps. Each round changes something, and published candidates need fewer."""


def normal_form(source: str) -> str:
    """`source` with one spelling of Triton's language, and without log statements, unreachable definitions and unused
    imports. Raises SyntaxError."""
    source = without_nested(source)
    for _ in range(MOST_ROUNDS):
        before = source
        for step in STEPS:
            source = edited(source, step(syntax.parse(source)))
        if source == before:
            break
    return source


# --- code without effect --------------------------------------------------------------------------------------


def _idle(tree: ast.Module) -> list[Edit]:
    """Remove statements that only call what does nothing for a result: in host code a module in SILENT, an object
    obtained from one, such as a logger, WAITS and, in constructors, SEEDS; in kernels PRINTS."""
    paths, inside = imported_paths(tree), in_kernels(tree)
    silent = silent_names(tree, paths)
    constructing = {id(one) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for method in node.body
                    if isinstance(method, ast.FunctionDef) and method.name == "__init__"
                    for statement in method.body for one in evaluated(statement)}  # fmt: skip
    return [
        Edit(node, node, "pass")
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and (
            isinstance(node.value, ast.Call) and dotted(node.value.func, paths) in PRINTS
            if id(node) in inside
            else base_name(node.value) in silent
            or (
                isinstance(node.value, ast.Call)
                and dotted(node.value.func, paths) in (WAITS | SEEDS if id(node) in constructing else WAITS)
            )
        )
    ]


def silent_names(tree: ast.Module, paths: dict[str, str]) -> set[str]:
    """The names of modules in SILENT, and of objects obtained from one. A function of another package that makes one
    has a name that ends with LOGGER."""
    silent = {name for name, path in paths.items() if path.partition(".")[0] in SILENT}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and (
            base_name(node.value) in silent or makes_logger(node.value, paths)
        ):  # fmt: skip
            silent |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return silent


def makes_logger(call: ast.Call, paths: dict[str, str]) -> bool:
    return (dotted(call.func, paths) or "").lower().endswith(LOGGER)


def _unreached(tree: ast.Module) -> list[Edit]:
    """Remove module-level definitions that are unreachable from ENTRIES and from statements that stay, unused imports,
    and statements that only try out what the module defines."""
    if not ENTRIES & bound_names(tree.body):
        return []
    reached, left = set(ENTRIES), list(tree.body)
    changed = scripts(tree)
    more = True
    while more:
        taken = [node for node in left if (names := changed.get(id(node), _names(node))) is None or names & reached]
        left = [node for node in left if not any(node is one for one in taken)]
        reached |= {name for node in taken for name in _read(node)}
        more = bool(taken)
    found = [Edit(node, node, _nothing(node, tree)) for node in left]
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not any(node is one for one in left):
            found += _narrowed(node, reached)
    return [edit for edit in found if edit.text != ast.unparse(edit.first)]


def _names(node: ast.stmt) -> set[str] | None:
    """The names that a statement defines if it does nothing else; None if it has to stay."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.ImportFrom(module="__future__"):
            return None
        case ast.Import() | ast.ImportFrom():
            return {found.name for found in imported(node)}
        case ast.Assign() | ast.AnnAssign() if names_in(node) & (FORBIDDEN_NAMES | FORBIDDEN_CALLS):
            return None  # so that the rules refuse it
        case ast.Assign(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.If() if runs_as_script(node):
            return set()
    return None


def _read(node: ast.stmt) -> set[str]:
    texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return free_names(node) | {text for text in texts if text.isidentifier()}


def _nothing(node: ast.stmt, tree: ast.Module) -> str:
    """The text that replaces a removed statement: "pass" if another statement shares its line, else ""."""
    lines = [other for other in tree.body if other is not node and other.lineno <= (node.end_lineno or node.lineno)
             and (other.end_lineno or other.lineno) >= node.lineno]  # fmt: skip
    return "pass" if lines else ""


def _narrowed(node: ast.Import | ast.ImportFrom, reached: set[str]) -> list[Edit]:
    """Remove the unused names of an import."""
    kept = [found.alias for found in imported(node) if found.name in reached or found.alias.name == "*"]
    if len(kept) == len(node.names) or not kept or getattr(node, "module", "") == "__future__":
        return []
    return [Edit(node, node, narrowed(node, kept))]


# --- kernels --------------------------------------------------------------------------------------------------


TRACERS = frozenset({"torch.compiler.is_compiling", "torch.jit.is_scripting", "torch.jit.is_tracing"})


def _traced(tree: ast.Module) -> list[Edit]:
    """Remove `if torch.compiler.is_compiling():`, also where it is one of several conditions joined by `and`: a branch
    that a recorded call does not take. A branch under `not` stays, because a recorded call takes it."""
    paths = imported_paths(tree)
    return [
        Edit(node, node, "pass")
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and not node.orelse
        and any(isinstance(one, ast.Call) and dotted(one.func, paths) in TRACERS for one in _conditions(node.test))
    ]  # fmt: skip


def _conditions(test: ast.expr) -> list[ast.expr]:
    """The conditions that all have to be true for `test` to be."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _decorators(tree: ast.Module) -> list[Edit]:
    """Put what `kernel = triton.jit(kernel)` behind a function calls above it. Remove decorators that a call does
    without: those that only `torch.compile` reads, and REGISTERED; above kernels those of foreign packages. Functions
    that only query the device lose CACHES, too: each call then repeats the query (the number of multiprocessors, for
    example)."""
    paths = imported_paths(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    tables = {name for name, values in bound_values(tree).items() if all(map(_is_table, values))}
    kernels = {id(function.node) for function in jit_functions(tree)}
    found, behind = [], decorated_behind(tree, paths)
    for node in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
        left_out = FOR_TRACERS | CACHES if _only_asks(node, paths, functions, tables) else FOR_TRACERS
        moved = behind.get(id(node), [])
        every = [*(function for _, function in moved), *node.decorator_list]
        kept = [one for one in every if dotted(_bare(one), paths) not in left_out
                and dotted(callee(one), paths) not in REGISTERED]  # fmt: skip
        kept = without_foreign(kept, paths) if id(node) in kernels else kept
        if kept != node.decorator_list:
            made = copy.copy(node)
            made.decorator_list = kept
            found += _in_place(tree, made, [node, *(one for one, _ in reversed(moved))])
    return found


def decorated_behind(tree: ast.Module, paths: dict[str, str]) -> dict[int, list[tuple[ast.stmt, ast.expr]]]:
    """The statements `kernel = triton.jit(kernel)` of a module and what they call, the last first, by the function's
    id."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = dict[int, list[tuple[ast.stmt, ast.expr]]]()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[ast.Name(id=same)])) if (
                name == same and name in functions and dotted(callee(function), paths) in DECORATORS
            ):
                found.setdefault(id(functions[name]), []).insert(0, (node, function))
            case _:
                pass
    return found


def _in_place(tree: ast.Module, made: ast.FunctionDef, replaced: list[ast.stmt]) -> list[Edit]:
    """Put a function in the place of the first of these statements; of the last, if what stands between them binds
    something that the decorators read. None where something between them reads the function itself."""
    first, last = tree.body.index(replaced[0]), tree.body.index(replaced[-1])
    between = [one for one in tree.body[first:last] if one not in replaced]
    if not bound_names(between) & {name for one in made.decorator_list for name in names_in(one)}:
        return [Edit(replaced[0], replaced[0], ast.unparse(made)), *(Edit(one, one, "") for one in replaced[1:])]
    is_read = any(made.name in names_in(one) for one in between)
    return [] if is_read else [Edit(replaced[0], replaced[-1], block([*between, made]))]


def _bare(decorator: ast.expr) -> ast.expr:
    """A decorator without its arguments, if all of them are constants."""
    if not isinstance(decorator, ast.Call):
        return decorator
    arguments = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    return decorator.func if all(isinstance(one, ast.Constant) for one in arguments) else decorator


def _is_table(value: ast.expr | None) -> bool:
    try:
        return isinstance(value, ast.Dict) and bool(ast.literal_eval(value))
    except (ValueError, TypeError):  # not of constants
        return False


def _only_asks(
    node: ast.FunctionDef, paths: dict[str, str], functions: dict[str, ast.FunctionDef], tables: set[str]
) -> bool:
    """Whether a function only queries the device and what is installed, also by other functions of the module, computes
    with the answers, looks them up in tables of constants, and raises. Arguments are only asked with, compared and
    computed with: it returns none of them."""
    others = {name: one for name, one in functions.items() if one is not node}
    raised = {id(part) for one in ast.walk(node) if isinstance(one, ast.Raise) for part in ast.walk(one)}
    parts = [part for statement in node.body for part in ast.walk(statement) if id(part) not in raised]
    computed = {id(one) for part in parts if isinstance(part, ast.Call | ast.keyword | ast.BinOp | ast.Compare)
                for one in ast.iter_child_nodes(part)}  # fmt: skip
    computed |= {id(part.test) for part in parts if isinstance(part, ast.If | ast.IfExp)}
    given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    return (
        node.name not in ENTRIES
        and all(id(part) in computed for part in parts if isinstance(part, ast.Name) and part.id in given)
        and all(
            ((path := dotted(part.func, paths)) and (path.startswith("torch.cuda.") or not path.startswith("torch.")))
            or getattr(part.func, "id", "") in COMPUTES
            or (isinstance(part.func, ast.Attribute) and part.func.attr in OF_TEXTS)
            or (isinstance(part.func, ast.Attribute) and ast.unparse(part.func).removesuffix(".get") in tables)
            or ((other := others.get(getattr(part.func, "id", ""))) is not None
                and _only_asks(other, paths, others, tables))
            for part in parts if isinstance(part, ast.Call)
        )
    )  # fmt: skip


def _unwrapped(tree: ast.Module) -> list[Edit]:
    """Replace `torch.library.wrap_triton(kernel)` by the kernel: outside of tracing both are the same."""
    paths = imported_paths(tree)
    return [
        Edit(node, node, ast.unparse(node.args[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func, paths) in WRAPPERS and len(node.args) == 1
    ]


STEPS: tuple[Callable[[ast.Module], list[Edit]], ...] = (
    other_modules, other_names, inner_names, constexpr_functions, _idle, guards, _traced,
    decorators, _decorators, _unwrapped, used, annotated, moved, in_every_call, _unreached,
)  # fmt: skip
