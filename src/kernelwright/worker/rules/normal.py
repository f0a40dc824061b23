"""The normal form of a Triton candidate: its source without code that does nothing for its kernels. Pure syntax.

The normal form is the text that is judged, exported and written to `best_kernel.py`. A step may therefore change what
the original text would do elsewhere: the result is judged like any other candidate. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Set

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import (
    base_name,
    bindings,
    dotted,
    free_names,
    imported,
    imported_name,
    imported_paths,
    names_in,
)
from kernelwright.source.edits import Edit, edited, narrowed
from kernelwright.source.kernels import DECORATORS, host_code, jit_functions
from kernelwright.worker.rules.constexprs import constexpr_functions
from kernelwright.worker.rules.decided import compared, computed, decided
from kernelwright.worker.rules.foreign import annotated, decorated, used
from kernelwright.worker.rules.guards import guards, handlers
from kernelwright.worker.rules.inner import DESCRIBED, inner_names
from kernelwright.worker.rules.scalars import scalars
from kernelwright.worker.rules.scripts import scripts
from kernelwright.worker.rules.spelling import other_modules, other_names
from kernelwright.worker.rules.static import FORBIDDEN_CALLS, FORBIDDEN_NAMES, runs_as_script

ENTRIES = frozenset({"kernel_function", "ModelNew", "SERVES"})
"""Module-level names that a worker looks for in a candidate."""

SILENT = frozenset({"logging", "warnings"})
"""Modules that only write messages. Statements that call them are removed."""

LOGGER = "logger"

SETTINGS = frozenset({"torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed",
                      "torch.cuda.manual_seed_all", "torch.set_printoptions", "random.seed", "numpy.random.seed",
                      "numpy.set_printoptions"})  # fmt: skip
"""Functions that set random seeds and print options. Calls of them at module level are removed."""

WAITS = frozenset({"torch.cuda.synchronize", "torch.cuda.empty_cache"})
"""Functions that wait for the device or free unused memory. Results do not depend on them."""

FLAGS = {"torch.backends.cuda.matmul.allow_tf32": "False", "torch.backends.cudnn.allow_tf32": "True"}
"""Flags of the process that published host code passes to kernels, with their values in a new process."""

PRINTS = frozenset({"triton.language.static_print"})

WRAPPERS = frozenset({"torch.library.wrap_triton"})

FOR_TRACERS = frozenset({"torch.compiler.disable", "torch.compiler.allow_in_graph", "torch._dynamo.disable"})
"""Decorators that only affect how `torch.compile` treats a function."""

REGISTERS = frozenset({"torch.library.triton_op", "torch.library.custom_op", "torch.library.impl", "torch.fx.wrap"})
"""Decorators, with any arguments, that register a function with PyTorch. A call of the function does the same without
them."""

REGISTERED = REGISTERS | DESCRIBED

CACHES = frozenset({"functools.lru_cache", "functools.cache"})

MOST_ROUNDS = 20
"""Limit on the rounds of all steps. Each round changes something, and published candidates need fewer."""


def normal_form(source: str) -> str:
    """`source` with one spelling of Triton's language, guarded imports resolved and constants computed, and without log
    statements, unreachable definitions and unused imports. Raises SyntaxError."""
    for _ in range(MOST_ROUNDS):
        before = source
        for step in STEPS:
            source = edited(source, step(syntax.parse(source)))
        if source == before:
            break
    return source


# --- code without effect --------------------------------------------------------------------------------------


def _spoken(tree: ast.Module) -> list[Edit]:
    """Remove statements that call a module in SILENT, or an object obtained from one, such as a logger. A function of
    another package that makes one has a name that ends with LOGGER."""
    paths = imported_paths(tree)
    silent = {name for name, path in paths.items() if path.partition(".")[0] in SILENT}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and (
            base_name(node.value) in silent or (dotted(node.value.func, paths) or "").lower().endswith(LOGGER)
        ):  # fmt: skip
            silent |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return [Edit(node, node, "pass") for top in host_code(tree) for node in ast.walk(top)
            if isinstance(node, ast.Expr) and base_name(node.value) in silent]  # fmt: skip


def _settled(tree: ast.Module) -> list[Edit]:
    """Remove calls of SETTINGS at module level, of WAITS in host code, and of PRINTS in kernels."""
    outside = (node for top in host_code(tree) for node in ast.walk(top))
    inside = (node for function in jit_functions(tree) for node in ast.walk(function.node))
    return [*_calls_of(SETTINGS, tree.body, tree), *_calls_of(WAITS, outside, tree), *_calls_of(PRINTS, inside, tree)]


def _flags(tree: ast.Module) -> list[Edit]:
    """Replace FLAGS by their values: a call may not depend on what another part of the program sets."""
    paths = imported_paths(tree)
    return [
        Edit(node, node, FLAGS[path])
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        and (path := dotted(node, paths) or "") in FLAGS
    ]  # fmt: skip


def _calls_of(names: Set[str], nodes: Iterable[ast.AST], tree: ast.Module) -> Iterator[Edit]:
    """Remove statements that are only a call of one of `names`."""
    paths = imported_paths(tree)
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and dotted(node.value.func, paths) in names:
            yield Edit(node, node, "pass")


def _unreached(tree: ast.Module) -> list[Edit]:
    """Remove module-level definitions that are unreachable from ENTRIES and from statements that stay, unused imports,
    and statements that only try out what the module defines."""
    if not ENTRIES & {binding.name for binding in bindings(tree)}:
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
        case ast.Assign() | ast.AnnAssign() if _acts(node):
            return None
        case ast.Assign(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.If() if runs_as_script(node):
            return set()
    return None


def _acts(node: ast.stmt) -> bool:
    """Whether a statement names a builtin that host code may not use. It then stays, so that the rules refuse it."""
    return bool(names_in(node) & (FORBIDDEN_NAMES | FORBIDDEN_CALLS))


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


def _raises(tree: ast.Module) -> list[Edit]:
    """Replace `raise` under an `if` in a kernel by `static_assert(False)`. Both compile only if a constant condition
    leaves them out, and the rules refuse `raise`."""
    language = imported_name("triton.language", imported_paths(tree))
    if language is None:
        return []
    return [
        Edit(node, node, f"{language}.static_assert(False)")
        for function in jit_functions(tree)
        for condition in ast.walk(function.node)
        if isinstance(condition, ast.If)
        for node in (*condition.body, *condition.orelse)
        if isinstance(node, ast.Raise)
    ]


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


def _bared(tree: ast.Module) -> list[Edit]:
    """Remove decorators that only `torch.compile` reads, and REGISTERED. Functions that only query the device lose
    CACHES, too: each call then repeats the query (the number of multiprocessors, for example)."""
    paths = imported_paths(tree)
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            left_out = FOR_TRACERS | CACHES if _only_asks(node, paths) else FOR_TRACERS
            kept = [one for one in node.decorator_list if dotted(_bare(one), paths) not in left_out
                    and dotted(one.func if isinstance(one, ast.Call) else one, paths) not in REGISTERED]  # fmt: skip
            if len(kept) < len(node.decorator_list):
                made = copy.copy(node)
                made.decorator_list = kept
                found.append(Edit(node, node, ast.unparse(made)))
    return found


def _bare(decorator: ast.expr) -> ast.expr:
    """A decorator without its arguments, if all of them are constants."""
    if not isinstance(decorator, ast.Call):
        return decorator
    arguments = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    return decorator.func if all(isinstance(one, ast.Constant) for one in arguments) else decorator


def _only_asks(node: ast.FunctionDef, paths: dict[str, str]) -> bool:
    """Whether a function only queries the device: its torch calls are all of `torch.cuda`, and none may be a launch."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    of_torch = [path for call in calls if (path := dotted(call, paths) or "").startswith("torch.")]
    launches = any(isinstance(call, ast.Subscript) for call in calls)
    return node.name not in ENTRIES and not launches and all(path.startswith("torch.cuda.") for path in of_torch)


def _decorated(tree: ast.Module) -> list[Edit]:
    """Replace `kernel = triton.jit(kernel)` behind a function by the decorator above it. Replace
    `torch.library.wrap_triton(kernel)` by the kernel: outside of tracing both are the same."""
    paths = imported_paths(tree)
    found = [
        Edit(node, node, ast.unparse(node.args[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func, paths) in WRAPPERS and len(node.args) == 1
    ]
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wrapped: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[ast.Name(id=same)])):
                named = function.func if isinstance(function, ast.Call) else function
                if name == same and name in functions and dotted(named, paths) in DECORATORS:
                    wrapped.setdefault(name, []).insert(0, function)
                    found.append(Edit(node, node, ""))
            case _:
                pass
    for name, decorators in wrapped.items():
        made = copy.copy(functions[name])
        made.decorator_list = [*decorators, *made.decorator_list]
        found.append(Edit(functions[name], functions[name], ast.unparse(made)))
    return found


STEPS: tuple[Callable[[ast.Module], list[Edit]], ...] = (
    other_modules, other_names, inner_names, scalars, constexpr_functions, decided, computed, compared, _spoken,
    _settled, _flags, guards, handlers, _traced, _bared, _decorated, used, decorated, annotated, _unreached, _raises,
)  # fmt: skip
