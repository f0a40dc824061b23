"""Forbidden constructs in a candidate's host code, found by syntax before anything runs.

Replay makes most of these harmless. They are refused because people read and ship the source. `state` checks for state
between calls, and `body` checks kernels. Each finding names a line and a rule, in words that a model can act on.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Any, TypeGuard

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import Imported, bindings, dotted, imported, targets_of
from kernelwright.source.branches import MARK, STAND_IN, runs_as_script
from kernelwright.source.kernels import in_kernels
from kernelwright.text.escape import acting
from kernelwright.worker.rules.framework import MODULES, ROOTS, may_be_imported, why_refused
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.moved import on_device
from kernelwright.worker.rules.state import kept

ALLOWED_MODULES = ("torch", "torch.nn", "torch.nn.functional", "triton", "triton.language", "math", "typing",
                   "__future__", "collections.abc", "dataclasses", "functools", "itertools", "torch.nn.init",
                   "torch.nn.parameter", "triton.language.extra", "triton.language.extra.libdevice",
                   "triton.language.extra.cuda", "triton.language.extra.cuda.libdevice", "triton.language.math",
                   "triton.tools.tensor_descriptor", "triton.runtime", "triton.testing")  # fmt: skip
"""Modules that a candidate may import: parts of torch, of Triton and of the standard library."""

ALLOWED_IMPORTS_OF = {
    "collections": ("OrderedDict", "namedtuple"), "enum": ("Enum", "IntEnum", "auto"), "contextlib": ("nullcontext",),
    "torch.autograd": ("Function",), "torch.autograd.function": ("Function", "once_differentiable"),
    "torch.amp": ("custom_fwd", "custom_bwd"), "torch.cuda.amp": ("custom_fwd", "custom_bwd"),
    "operator": ("add", "sub", "mul", "floordiv", "mod", "neg", "lt", "le", "eq", "ne", "ge", "gt"),
    "numpy": ("prod", "sqrt", "log", "log2", "ceil", "floor", "pi", "e", "inf"),
    "typing_extensions": ("Literal", "TypeAlias", "Self"), "numbers": ("Number",),
    "triton.language.standard": ("_log2", "_is_power_of_two"),
    "torch._prims_common": ("is_boolean_dtype", "is_complex_dtype", "is_float_dtype", "is_integer_dtype"),
}  # fmt: skip
"""Names that a candidate may import from further modules. It may not use any other names of these modules."""

FORBIDDEN_NAMES = frozenset({"exec", "eval", "compile", "open", "__import__", "globals", "locals", "vars", "setattr",
                             "delattr", "breakpoint", "__builtins__", "__loader__", "__spec__", MARK,
                             STAND_IN})  # fmt: skip
"""Builtins that host code may not even name, unless it binds the name itself (an argument called `vars`)."""

FORBIDDEN_CALLS = frozenset({"input", "memoryview", "id", "hash", "dir"})
"""Builtins that host code may not call. Their names are allowed, because they are common names of arguments."""

READS_VALUES = frozenset({"item", "tolist", "numpy", "cpu", "data_ptr", "untyped_storage", "storage", "set_"})
"""Attributes of a tensor that depend on more than its shape."""

PROBES = frozenset({"is_meta", "is_compiling", "is_tracing", "is_scripting", "is_fake",
                    "is_current_stream_capturing", "_version", "_cdata", "_sequence_nr", "grad_fn", "is_inference",
                    "is_shared", "device_caches", "hash", "cache_key", "used_global_vals", "bench_time",
                    "configs_timings", "_fn_name", "_base", "_is_view", "_typed_storage", "_use_count", "_view_func",
                    "_backward_hooks", "_python_dispatch", "src", "_src", "raw_src",
                    "starting_line_number"})  # fmt: skip
"""Attributes that distinguish a recorded call from a real one, or one call from another."""

OF_THE_FILE = frozenset({"__name__", "__file__", "__package__", "__cached__", "__doc__", "__debug__"})
"""Names whose value depends on how Python found or ran the file."""

SYSTEM = frozenset({"os", "sys", "subprocess", "importlib", "builtins", "inspect", "ctypes", "gc", "threading",
                    "multiprocessing", "socket", "pickle", "shutil", "tempfile", "traceback", "weakref", "atexit",
                    "warnings", "platform", "knobs", "pkgutil", "runpy", "linecache", "_C", "Stream", "ExternalStream",
                    "CUDAGraph", "add_pre_run_hook", "pre_run_hooks", "compile", "evaluate", "_evaluate",
                    "get_capture_scope", "create_binder", "preload"})  # fmt: skip
"""Attributes of the framework's modules: modules that they have imported, and functions and classes that schedule work
or run code beside a call or from a text, and methods of kernels that return the module's names or compile."""

FRAMES = frozenset({"gi_frame", "cr_frame", "ag_frame", "tb_frame", "tb_next", "f_back", "f_locals", "f_globals",
                    "f_builtins", "f_code", "gi_yieldfrom"})  # fmt: skip
"""Attributes that lead from a generator or an exception to the frame of the caller."""

FORBIDDEN_PARTS = frozenset({
    "compile", "compiler", "ops", "library", "overrides", "hub", "load", "save", "from_file", "distributed", "package",
    "serialization", "fx", "export", "profiler", "backends", "manual_seed", "seed", "script", "trace",
    "use_deterministic_algorithms", "Event", "current_stream", "default_stream", "stream", "graph", "synchronize",
    "do_bench", "make_graphed_callables", "detect_anomaly", "cudart", "swap_tensors",
})  # fmt: skip
"""Attributes of `torch` and `triton`, not of tensors, that compute, compile, store, time or reorder work."""

SETTERS = ("set_", "register_module_")
"""Prefixes of functions that change the framework for the whole process."""
ALLOWED_SETTERS = frozenset({"set_grad_enabled", "set_device", "set_allocator"})
"""Exceptions, which host code needs for its kernels."""

SETS_ATTRIBUTES = frozenset({"update_wrapper", "make_dataclass", "total_ordering", "setattr", "delattr"})
"""Functions that set attributes of their argument without a visible assignment."""
DECORATORS_ONLY = frozenset({"wraps", "dataclass"})
"""Functions of the same kind that are allowed as decorators above a definition."""

MAKES_CLASSES = frozenset({"type", "Enum", "IntEnum"})

ALLOWED_SPECIAL = frozenset({"__init__", "__post_init__", "__version__", "__name__"})

HOOKS = {
    "__exit__": "could swallow a failure, which has to be seen", "__aexit__": "could swallow a failure",
    "__torch_function__": "computes in place of the framework",
    "__torch_dispatch__": "computes in place of the framework",
    "__getitem__": "looks like the launch of a kernel", "__getattr__": "computes when it is looked at",
    "__getattribute__": "computes when it is looked at", "__del__": "runs at a time that is not known",
    "__instancecheck__": "answers for objects of other classes", "__match_args__": "reads attributes by their names",
    "__subclasscheck__": "answers for other classes", "__subclasshook__": "answers for other classes",
    "__module__": "makes it look like another module's", "__name__": "makes it look like another module's",
}  # fmt: skip
"""Special methods that a class or the module may not define, and why."""

UNPACKED = frozenset({"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})
"""Classes whose patterns may match by position: they match the object itself, and other classes their attributes."""


@dataclass(frozen=True)
class _Host:
    """The host code of a module. framework: full names, by the names that imports bind to a module of ROOTS or a part
    of one. partly: the same for whole modules in `ALLOWED_IMPORTS_OF`.

    ids of expressions. own: names that a function around them binds. bases: attributes of them are read. asked: first
    arguments of `getattr` and `hasattr`, and modules that are given another name. alignment: `data_ptr` in tests of
    alignment or of equality. called: they are called. above: they are in decorators.

    uses: by names, a line that reads it.
    """

    own: frozenset[int]
    partly: dict[str, str]
    bases: frozenset[int]
    asked: frozenset[int]
    alignment: frozenset[int]
    framework: dict[str, str]
    called: frozenset[int]
    above: frozenset[int]
    uses: dict[str, int]


def check(source: str) -> list[Finding]:
    """Every rule that the host code of `source` breaks, by line; raises SyntaxError if it does not parse."""
    tree = syntax.parse(source)
    if "__name__" not in {binding.name for binding in bindings(tree)}:
        tree.body = [node for node in tree.body if not runs_as_script(node)]
    kernels = in_kernels(tree)
    findings = [finding for _, finding in broken(tree, kernels)] + kept(tree, kernels)
    hidden = acting(source)
    if hidden is not None:
        rule = f"holds the character {hidden[1]}, which a reader cannot see; write this escape sequence instead"
        findings.append(Finding(hidden[0], rule))
    return sorted(set(findings))


def broken(tree: ast.Module, kernels: Set[int]) -> Iterator[tuple[ast.AST, Finding]]:
    """The nodes of host code that break a rule, each with a finding. kernels: ids of the nodes in bodies of kernels."""
    nodes = [node for node in ast.walk(tree) if id(node) not in kernels]
    host = _host_of(tree, nodes)
    yield from ((node, finding) for node in nodes if type(node) in RULES for finding in RULES[type(node)](node, host))


def _host_of(tree: ast.Module, nodes: list[ast.AST]) -> _Host:
    decorators = (decorator for node in nodes for decorator in getattr(node, "decorator_list", []))
    framework = {found.name: found.path for node in nodes for found in _of_framework(node)}
    renamed = _renamed(nodes, framework)
    return _Host(
        own=frozenset(_own(tree, frozenset())),
        framework=framework | {name: dotted(value, framework) or "" for name, value in renamed},
        partly={
            found.name: found.alias.name
            for node in nodes
            if isinstance(node, ast.Import)
            for found in imported(node)
            if found.alias.name in ALLOWED_IMPORTS_OF
        },
        bases=frozenset(id(node.value) for node in nodes if isinstance(node, ast.Attribute)),
        asked=frozenset({id(node.args[0]) for node in nodes if _asks(node)} | {id(value) for _, value in renamed}),
        alignment=frozenset(found for node in nodes for found in _alignment(node)),
        called=frozenset(id(node.func) for node in nodes if isinstance(node, ast.Call)),
        above=frozenset(id(node) for decorator in decorators for node in ast.walk(decorator)),
        uses={n.id: n.lineno for n in reversed(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)},
    )


def _own(node: ast.AST, bound: Set[str]) -> Iterator[int]:
    """ids of the names in `node` that a function, a lambda or a comprehension around them binds. bound: names that
    those around `node` bind."""
    inside: Set[str] = bound
    within: list[ast.AST] = []
    match node:
        case ast.Name(id=name):
            yield from [id(node)] if name in bound else []
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            within = [*node.body] if isinstance(node.body, list) else [node.body]
            inside = bound | {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            inside |= {binding.name for statement in within for binding in bindings(statement)}
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first = node.generators[0].iter
            within = [part for one in node.generators for part in (one.target, one.iter, *one.ifs) if part is not first]
            within += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            inside = bound | {name for one in node.generators for name in targets_of(one)}
            yield from _own(first, bound)
        case _:
            pass
    for part in within:
        yield from _own(part, inside)
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for child in ast.iter_child_nodes(node):
            if not any(child is part for part in within):
                yield from _own(child, bound)


def _of_framework(node: ast.AST) -> list[Imported]:
    """Names that an import binds to a module of ROOTS or a part of one."""
    return [found for found in imported(node) if found.path.partition(".")[0] in ROOTS]


def _renamed(nodes: list[ast.AST], paths: dict[str, str]) -> list[tuple[str, ast.expr]]:
    """Name and value of assignments such as `F = torch.nn.functional`, which count as imports of the module."""
    assigned = [node for tree in nodes if isinstance(tree, ast.Module) for node in tree.body
                if isinstance(node, ast.Assign) and dotted(node.value, paths) in MODULES]  # fmt: skip
    return [(one.targets[0].id, one.value) for one in assigned
            if len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)]  # fmt: skip


def _asks(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether `node` is a call of `getattr` or `hasattr`."""
    return isinstance(node, ast.Call) and bool(node.args) and getattr(node.func, "id", None) in ("getattr", "hasattr")


def may_import(module: str, name: str | None = None) -> bool:
    """Whether host code may import a module, or a name from it."""
    return module in ALLOWED_MODULES or (
        module in ALLOWED_IMPORTS_OF and (name is None or name in ALLOWED_IMPORTS_OF[module])
    )


def _alignment(node: ast.AST) -> list[int]:
    """ids of `x.data_ptr` in `x.data_ptr() % 16`, `x.data_ptr() & 15` and `x.data_ptr() == y.data_ptr()`.

    The last only of names, because two tensors that are made for the comparison may have the same memory in turn."""
    match node:
        case ast.BinOp(
            left=ast.Call(func=ast.Attribute(attr="data_ptr") as asked, args=[]),
            op=ast.Mod() | ast.BitAnd() as operator,
            right=ast.Constant(value=int(number)),
        ) if number < ALIGNMENTS[-1] if isinstance(operator, ast.BitAnd) else number in ALIGNMENTS:
            return [id(asked)]
        case ast.Compare(
            left=ast.Call(func=ast.Attribute(value=ast.Name(), attr="data_ptr") as one, args=[]),
            ops=[ast.Eq() | ast.NotEq()],
            comparators=[ast.Call(func=ast.Attribute(value=ast.Name(), attr="data_ptr") as other, args=[])],
        ):
            return [id(one), id(other)]
        case _:
            return []


ALIGNMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Alignments that host code may test for, in bytes. No kernel needs a larger one. A larger number, or one that is no
power of two, would reveal where in memory a tensor is."""


def _import(node: ast.Import, host: _Host) -> Iterator[Finding]:
    for alias in node.names:
        if not may_import(alias.name) or ("." in alias.name and alias.name in ALLOWED_IMPORTS_OF):
            yield Finding(node.lineno, f"imports {alias.name}{_used(node, host)}; {_allowed(alias.name)}")


def _import_from(node: ast.ImportFrom, host: _Host) -> Iterator[Finding]:
    module = "" if node.level else node.module or ""
    names = [alias.name for alias in node.names]
    if module in ALLOWED_IMPORTS_OF:
        allowed = ALLOWED_IMPORTS_OF[module]
        wrong = [
            f"imports {name} from {module}; allowed: {', '.join(allowed)}" for name in names if name not in allowed
        ]
    elif module in ALLOWED_MODULES:
        of_framework = module.startswith(("torch", "triton"))
        wrong = [
            f"imports {name}: {why}"
            for name in names
            if (why := _attribute(name, of_framework) or may_be_imported(f"{module}.{name}"))
        ]
    else:
        wrong = [f"imports from {node.module}{_used(node, host)}; {_allowed(module)}"]
    wrong += [
        f"imports {alias.name} under another name"
        for alias in node.names
        if alias.name in DECORATORS_ONLY and alias.asname not in (None, alias.name)
    ]
    yield from (Finding(node.lineno, rule) for rule in wrong)


def _name(node: ast.Name, host: _Host) -> Iterator[Finding]:
    if node.id in FORBIDDEN_NAMES and id(node) not in host.own:
        yield Finding(node.lineno, f"uses {node.id}; host code may only allocate, view, copy, cast and launch")
    if node.id in OF_THE_FILE and isinstance(node.ctx, ast.Load) and id(node) not in host.own:
        yield Finding(node.lineno, f"uses {node.id}: a call must not depend on how its file was found; leave it out")
    if node.id in ("getattr", "hasattr") and id(node) not in host.called:
        yield Finding(node.lineno, f"{node.id} has to be called by its name, with the attribute as a literal")
    if node.id in host.partly and id(node) not in host.bases and id(node) not in host.own:
        yield Finding(node.lineno, f"uses the module {node.id} itself; write what is used of it: {node.id}.NAME")
    yield from _only_above(node, node.id, host)
    yield from _named(node, host)


def _attribute_used(node: ast.Attribute, host: _Host) -> Iterator[Finding]:
    module = host.partly.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if module is not None and node.attr not in ALLOWED_IMPORTS_OF[module]:
        allowed = ", ".join(ALLOWED_IMPORTS_OF[module])
        yield Finding(node.lineno, f"imports {module} and uses its {node.attr}; allowed of it: {allowed}")
    elif node.attr in ("format", "format_map") and not _is_plain_text(node.value):
        yield Finding(node.lineno, f"uses .{node.attr} of a text that may name attributes: write an f-string")
    elif id(node) in host.alignment:
        return
    elif why := _attribute(node.attr, _of_host(node, host)):
        yield Finding(node.lineno, f"uses .{node.attr}: {why}")
    yield from _only_above(node, node.attr, host)
    yield from _named(node, host)


def _named(node: ast.Name | ast.Attribute, host: _Host) -> Iterator[Finding]:
    """A finding if a whole chain of attributes is a name of the framework that host code may not use."""
    path = dotted(node, host.framework) if isinstance(node.ctx, ast.Load) else None
    if path and not {id(node)} & (host.bases | host.asked) and (why := why_refused(path)):
        yield Finding(node.lineno, f"uses {path}: {why}")


def _only_above(node: ast.Name | ast.Attribute, name: str, host: _Host) -> Iterator[Finding]:
    """A finding for a name in DECORATORS_ONLY outside of a decorator."""
    if name in DECORATORS_ONLY and id(node) not in host.above:
        rule = f"uses {name} outside of a decorator: it can set attributes of any object; write it above a definition"
        yield Finding(node.lineno, rule)


def _call(node: ast.Call, host: _Host) -> Iterator[Finding]:
    if (made := on_device(node, host.framework)) is not None:
        yield Finding(node.lineno, f"allocates memory on the CPU and moves it: write {ast.unparse(made)}")
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS and id(node.func) not in host.own:
            yield Finding(node.lineno, f"calls {name}(); host code may only allocate, view, copy, cast and launch")
        case ast.Call(func=ast.Name(id=("getattr" | "hasattr") as name), args=args):
            yield from _named_at_run_time(node, name, args, host)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[_, _, *_]) if name in MAKES_CLASSES:
            yield Finding(node.lineno, f"makes a class at run time with {name}(): write a class statement")


def _is_plain_text(text: ast.expr) -> bool:
    """Whether `text` is a string literal whose fields read no attributes or elements of a value."""
    match text:
        case ast.Constant(value=str(written)):
            return not re.search(r"\{[^{}:!]*[.\[]", written)
        case _:
            return False


def _catches(node: ast.Try, host: _Host) -> Iterator[Finding]:
    """A finding unless each handler begins with `raise`: the failure is then seen either way."""
    only_raise = [isinstance(handler.body[0], ast.Raise) for handler in node.handlers]
    if not only_raise or not all(only_raise) or node.finalbody:
        rule = "catches exceptions: a failure has to be seen, not replaced by a fallback; take the body out of the try"
        yield Finding(node.lineno, rule)


def _matched_class(node: ast.MatchClass, host: _Host) -> Iterator[Finding]:
    for name in node.kwd_attrs:
        if why := _attribute(name, True):
            yield Finding(node.lineno, f"uses .{name}: {why}")
    if node.patterns and getattr(node.cls, "id", None) not in UNPACKED:
        rule = f"matches attributes of {ast.unparse(node.cls)} by position; write isinstance and read them by name"
        yield Finding(node.lineno, rule)


def _defines(node: ast.ClassDef | ast.Module, host: _Host) -> Iterator[Finding]:
    for binding in (binding for statement in node.body for binding in bindings(statement)):
        if binding.name in HOOKS:
            yield Finding(binding.line, f"defines {binding.name}, which {HOOKS[binding.name]}")


def _async(node: ast.AsyncFunctionDef, host: _Host) -> Iterator[Finding]:
    yield Finding(node.lineno, "uses async code; write a plain function")


RULES: dict[type[ast.AST], Callable[[Any, _Host], Iterator[Finding]]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Name: _name,
    ast.Attribute: _attribute_used,
    ast.Call: _call,
    ast.Try: _catches,
    getattr(ast, "TryStar", ast.Try): _catches,  # Python 3.11
    ast.MatchClass: _matched_class,
    ast.ClassDef: _defines,
    ast.Module: _defines,
    ast.AsyncFunctionDef: _async,
}
"""The check of each kind of node."""


def _used(node: ast.Import | ast.ImportFrom, host: _Host) -> str:
    lines = [host.uses[found.name] for found in imported(node) if found.name in host.uses]
    return f", which line {min(lines)} uses" if lines else ""


def _allowed(module: str) -> str:
    """What host code may import instead of a module, and what to do about that one."""
    is_of_python = module.partition(".")[0] in sys.stdlib_module_names
    cure = "write the value, or leave it out" if is_of_python else "copy the code that you use into this file"
    return f"allowed: {', '.join(ALLOWED_MODULES[:6])} and a few more; {cure}"


def _attribute(name: str, of_framework: bool) -> str:
    """Why host code may not use an attribute of this name; "" if it may."""
    if name in READS_VALUES:
        return "host code may depend on shapes only and compute nothing; read values in a kernel, or take the shape"
    if name in PROBES:
        return "a call must do the same wherever it runs; remove this check and keep one branch"
    if name.startswith("register_") and name.endswith("_hook"):
        return "hooks run code beside the call, and their numbers count calls; remove the hook"
    if name in SYSTEM or name in FRAMES:
        return "host code may use tensors, operators and Triton only; write the value instead"
    if name.startswith("__") and name not in ALLOWED_SPECIAL:
        return "host code may not use special attributes; leave it out"
    if name == "register":
        return "a registry outlives the call; call the function directly"
    if name in SETS_ATTRIBUTES:
        return "it sets attributes without an assignment; write the class or the function out"
    if of_framework and name.startswith(SETTERS) and name not in ALLOWED_SETTERS:
        return "host code may not change the framework; leave it out"
    if of_framework and (name in FORBIDDEN_PARTS or (name.startswith("_") and name not in ALLOWED_SPECIAL)):
        return "host code may only allocate, view, copy, cast and launch, on the current stream"
    return ""


def _named_at_run_time(node: ast.Call, function: str, args: list[ast.expr], host: _Host) -> list[Finding]:
    name = args[1].value if len(args) > 1 and isinstance(args[1], ast.Constant) else None
    if not isinstance(name, str):
        return [Finding(node.lineno, f"calls {function}() with a name that is not a literal")]
    why = _attribute(name, _of_host(args[0], host))
    if path := dotted(args[0], host.framework):
        why = why or (why_refused if function == "getattr" else may_be_imported)(f"{path}.{name}")
    if name in DECORATORS_ONLY:
        why = "it can set attributes of any object; write it above a definition"
    return [Finding(node.lineno, f"uses .{name}: {why}")] if why else []


def _of_host(node: ast.expr, host: _Host) -> bool:
    """Whether a chain of attributes begins with a name of the framework that is not of Triton's language."""
    while isinstance(node, ast.Attribute):
        node = node.value
    path = host.framework.get(node.id) if isinstance(node, ast.Name) else None
    return path is not None and not path.startswith("triton.language")
