"""The normal form of a Triton candidate: its source without code that does nothing for its kernels. Pure syntax.

The normal form is the text that is judged, exported and written to `best_kernel.py`. A step may therefore change what
the original text would do elsewhere: the result is judged like any other candidate. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings, dotted, imported, imported_paths, names_in
from kernelwright.source.edits import Edit, block, edited
from kernelwright.source.kernels import DECORATORS, jit_functions
from kernelwright.worker.rules.constexprs import constexpr_functions
from kernelwright.worker.rules.folding import NotConstant, literal, value_of
from kernelwright.worker.rules.foreign import annotated, root_of, used
from kernelwright.worker.rules.guards import guards, handlers
from kernelwright.worker.rules.installed import is_installed
from kernelwright.worker.rules.spelling import other_modules, other_names
from kernelwright.worker.rules.static import FORBIDDEN_CALLS, FORBIDDEN_NAMES, may_import

ENTRIES = frozenset({"kernel_function", "ModelNew", "SERVES"})
"""Module-level names that a worker looks for in a candidate."""

SILENT = frozenset({"logging", "warnings"})
"""Modules that only write messages. Statements that call them are removed."""

LOGGER = "logger"

IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})

SETTINGS = frozenset({"torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed",
                      "torch.cuda.manual_seed_all", "torch.set_printoptions", "random.seed", "numpy.random.seed",
                      "numpy.set_printoptions"})  # fmt: skip
"""Functions that set random seeds and print options. Calls of them at module level are removed."""

PRINTS = frozenset({"triton.language.static_print"})

WRAPPERS = frozenset({"torch.library.wrap_triton"})

FOR_TRACERS = frozenset({"torch.compiler.disable", "torch.compiler.allow_in_graph", "torch._dynamo.disable"})
"""Decorators that only affect how `torch.compile` treats a function."""

REGISTERS = frozenset({"torch.library.triton_op", "torch.library.custom_op", "torch.library.impl", "torch.fx.wrap"})
"""Decorators, with any arguments, that register a function with PyTorch. A call of the function does the same without
them."""

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


# --- code that runs at import ---------------------------------------------------------------------------------


def _decided(tree: ast.Module) -> list[Edit]:
    """Replace imports under `try`, and module-level `if` with a known condition, by the branch that is taken."""
    found = []
    for node in tree.body:
        chosen = _side(node, tree)
        if chosen is not None:
            found.append(Edit(node, node, block(chosen)))
    return found


def _side(node: ast.stmt, tree: ast.Module) -> list[ast.stmt] | None:
    match node:
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=[]) if (
            _is_guard(taken := _taken(body, tree)) and handlers
        ):
            if all(_works(statement, tree) for statement in taken):
                return [*taken, *orelse]
            caught = [handler.body for handler in handlers if _caught(handler) & IMPORT_ERRORS]
            return caught[0] if caught else None
        case ast.If(body=body, orelse=orelse):
            try:
                return _branch(node, tree)
            except NotConstant:
                sides = [side for side in (body, orelse) if side]
            if len(sides) == 2 and all(map(_is_guard, sides)):
                return next((side for side in sides if all(_works(one, tree) for one in side)), None)
    return None


def _branch(node: ast.If, tree: ast.Module) -> list[ast.stmt]:
    """The branch of a module-level `if` that is taken; raises NotConstant where its condition is not known."""
    return node.body if value_of(node.test, tree) else node.orelse


def _taken(body: list[ast.stmt], tree: ast.Module) -> list[ast.stmt]:
    """`body` with each `if` whose condition is known (the version of Triton, for example) replaced by its branch."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            with suppress(NotConstant):
                found += _taken(_branch(statement, tree), tree)
                continue
        found.append(statement)
    return found


def _is_guard(body: list[ast.stmt]) -> bool:
    """Whether `body` imports modules or reads their attributes, and otherwise only assigns constants and names."""
    tried = ast.Import | ast.ImportFrom | ast.Attribute
    return any(isinstance(node, tried) for part in body for node in ast.walk(part)) and all(
        isinstance(part, ast.Import | ast.ImportFrom | ast.Pass)
        or (isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant | ast.Name | ast.Attribute))
        or (isinstance(part, ast.Try) and _is_guard(part.body))
        for part in body
    )


def _works(statement: ast.stmt, tree: ast.Module) -> bool:
    """Whether the installed Triton has what a statement imports or reads, and host code may import it."""
    match statement:
        case ast.Assign(value=ast.Attribute(value=owner, attr=name)):
            return is_installed(dotted(owner, imported_paths(tree)) or "", name)
        case ast.Import(names=names):
            return all(may_import(alias.name) and is_installed(alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return all(may_import(module, alias.name) and is_installed(module, alias.name) for alias in names)
        case ast.Try(handlers=handlers):
            return bool(handlers)
    return not isinstance(statement, ast.ImportFrom)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    return {"Exception"} if handler.type is None else names_in(handler.type)


def _computed(tree: ast.Module) -> list[Edit]:
    """Replace module-level expressions by their values, as literals, where folding can compute them."""
    roots = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None]
    return [edit for node in roots for edit in _literals(node.value, tree) if node.value is not None]


def _literals(node: ast.AST | None, tree: ast.Module) -> Iterator[Edit]:
    match node:
        case ast.Constant() | ast.Lambda() | None:
            return
        case ast.IfExp(test=test, body=body, orelse=orelse):
            try:
                yield Edit(node, node, ast.unparse(body if value_of(test, tree) else orelse))
                return
            except NotConstant:
                pass
        case ast.Call() | ast.Compare() | ast.BoolOp() | ast.Attribute() | ast.BinOp():
            try:
                text = literal(value_of(node, tree))
                if text != ast.unparse(node) and not _is_plain(node):
                    yield Edit(node, node, text)
                return
            except NotConstant:
                pass
    for child in ast.iter_child_nodes(node):
        yield from _literals(child, tree)


def _is_plain(node: ast.expr) -> bool:
    """Whether `node` is arithmetic on literals, which stays as it is."""
    return all(isinstance(part, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
               for part in ast.walk(node))  # fmt: skip


# --- code without effect --------------------------------------------------------------------------------------


def _spoken(tree: ast.Module) -> list[Edit]:
    """Remove statements that call a module in SILENT, or an object obtained from one, such as a logger. A function of
    another package that makes one has a name that ends with LOGGER."""
    paths = imported_paths(tree)
    silent = {name for name, path in paths.items() if path.partition(".")[0] in SILENT}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and (
            root_of(node.value) in silent or (dotted(node.value.func, paths) or "").lower().endswith(LOGGER)
        ):  # fmt: skip
            silent |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    kernels = {id(function.node) for function in jit_functions(tree)}
    nodes = (node for top in tree.body if id(top) not in kernels for node in ast.walk(top))
    return [Edit(node, node, "pass") for node in nodes if isinstance(node, ast.Expr) and root_of(node.value) in silent]


def _settled(tree: ast.Module) -> list[Edit]:
    """Remove calls of SETTINGS at module level, and calls of PRINTS in kernels."""
    inside = (node for function in jit_functions(tree) for node in ast.walk(function.node))
    return [*_calls_of(SETTINGS, tree.body, tree), *_calls_of(PRINTS, inside, tree)]


def _calls_of(names: Set[str], nodes: Iterable[ast.AST], tree: ast.Module) -> Iterator[Edit]:
    """Remove statements that are only a call of one of `names`."""
    paths = imported_paths(tree)
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and dotted(node.value.func, paths) in names:
            yield Edit(node, node, "pass")


def _unreached(tree: ast.Module) -> list[Edit]:
    """Remove module-level definitions that are unreachable from ENTRIES and from statements that stay, and unused
    imports."""
    if not ENTRIES & {binding.name for binding in bindings(tree)}:
        return []
    reached, left = set(ENTRIES), list(tree.body)
    more = True
    while more:
        taken = [node for node in left if _names(node) is None or (_names(node) or set()) & reached]
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
        case ast.If() if ast.unparse(node.test) == "__name__ == '__main__'" and not node.orelse:
            return set()
    return None


def _acts(node: ast.stmt) -> bool:
    """Whether a statement names a builtin that host code may not use. It then stays, so that the rules refuse it."""
    return bool(names_in(node) & (FORBIDDEN_NAMES | FORBIDDEN_CALLS))


def _read(node: ast.stmt) -> set[str]:
    texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return names_in(node) | {text for text in texts if text.isidentifier()}


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
    made = ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, kept, node.level)
    return [Edit(node, node, ast.unparse(made))]


# --- kernels --------------------------------------------------------------------------------------------------


def _raises(tree: ast.Module) -> list[Edit]:
    """Replace `raise` under an `if` in a kernel by `static_assert(False)`. Both compile only if a constant condition
    leaves them out, and the rules refuse `raise`."""
    language = [name for name, path in imported_paths(tree).items() if path == "triton.language"]
    if not language:
        return []
    return [
        Edit(node, node, f"{language[0]}.static_assert(False)")
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
    """Remove decorators that only `torch.compile` reads, and REGISTERS. Functions that only query the device lose
    CACHES, too: each call then repeats the query (the number of multiprocessors, for example)."""
    paths = imported_paths(tree)
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            left_out = FOR_TRACERS | CACHES if _only_asks(node, paths) else FOR_TRACERS
            kept = [one for one in node.decorator_list if dotted(_bare(one), paths) not in left_out
                    and dotted(one.func if isinstance(one, ast.Call) else one, paths) not in REGISTERS]  # fmt: skip
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
    for name, decorators in wrapped.items():
        made = copy.copy(functions[name])
        made.decorator_list = [*decorators, *made.decorator_list]
        found.append(Edit(functions[name], functions[name], ast.unparse(made)))
    return found


STEPS: tuple[Callable[[ast.Module], list[Edit]], ...] = (
    other_modules, other_names, constexpr_functions, _decided, _computed, _spoken, _settled, guards, handlers, _traced,
    _bared, _decorated, used, annotated, _unreached, _raises,
)  # fmt: skip
