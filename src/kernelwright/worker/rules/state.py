"""State that host code could keep between calls, found by syntax.

Host code may neither create nor write containers and attributes that outlive a call. For state that syntax does not
show, the recorder makes each call twice and compares.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from kernelwright.source.bindings import (
    assigned_targets,
    base_name,
    bindings,
    defaults_of,
    evaluated,
    names_in,
    parameters_of,
    stored_names,
    targets_of,
)
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.tables import tables

CACHES = frozenset({"lru_cache", "cache", "cached_property", "singledispatch"})

CONTAINERS = frozenset({"dict", "list", "set", "bytearray", "defaultdict", "OrderedDict", "deque", "Counter"})

ITERATORS = frozenset({"count", "cycle", "iter", "repeat", "chain", "islice", "product", "zip", "map", "filter",
                       "enumerate", "reversed", "accumulate", "starmap", "takewhile", "dropwhile", "pairwise", "tee",
                       "permutations", "combinations", "zip_longest", "groupby", "compress"})  # fmt: skip

KEEPS_PLACE = "an iterator keeps its place between calls; use a tuple"

CHANGES = frozenset({"append", "extend", "insert", "update", "setdefault", "pop", "popitem", "clear", "remove",
                     "discard", "appendleft", "register_buffer", "register_parameter", "__setattr__",
                     "__setitem__"})  # fmt: skip
"""Methods that change their object. In-place methods of tensors are missing: the recorder checks those."""

MAKES_TENSORS = frozenset({"empty", "zeros", "ones", "full", "tensor", "arange", "rand", "randn", "empty_like"})

CONSTRUCTORS = ("__init__", "__post_init__")
CONTEXT_METHODS = ("forward", "backward", "setup_context")
"""Methods of an autograd function. PyTorch passes them a new context, as the first argument, in every call."""

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
Function = FunctionDef | ast.Lambda


def kept(tree: ast.Module, kernels: set[int]) -> list[Finding]:
    """A finding for each place where host code could keep state. kernels: ids of AST nodes that are not host code."""
    only_read = tables(tree)
    body = [node for node in tree.body if not _assigned_names(node) or not _assigned_names(node) <= only_read]
    found = _containers(body, "a module-level container could keep results between calls: only read it where it is "
                              "used (an element, `in`, len, a loop), or make it a tuple")  # fmt: skip
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}  # an argument may be named `cache`
    autograd = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _is_autograd(node)}
    found += _applied_only(tree, autograd) + _constructed_only(tree)
    given = _Given(
        contexts=frozenset(id(one) for node in autograd.values() for one in _methods(node)), hooks=_hooks(tree),
        passing=_passing(tree),
    )  # fmt: skip
    bound = {one.name for node in ast.walk(tree) if isinstance(node, FunctionDef | ast.ClassDef)
             for part in node.body for one in bindings(part)}  # fmt: skip
    for node in (node for node in ast.walk(tree) if id(node) not in kernels):
        if isinstance(node, ast.ClassDef):
            found += _containers(node.body, "a container in a class could keep results between calls; use a tuple")
        elif isinstance(node, Function):
            found += _defaults(node)
            if not (isinstance(node, ast.FunctionDef) and any(id(s) in kernels for s in node.body)):
                found += _function(node, given)
        elif isinstance(node, ast.Global | ast.Nonlocal) and not bound.isdisjoint(node.names):
            rule = "keeps state between calls through global or nonlocal; pass it on instead"
            found.append(Finding(node.lineno, rule))
        elif isinstance(node, ast.Yield | ast.YieldFrom):
            found.append(Finding(node.lineno, "keeps state between calls in a generator; return a tuple"))
        elif isinstance(node, ast.Name | ast.Attribute) and _last(node) in CACHES - (
            arguments if isinstance(node, ast.Name) else set()
        ):
            found.append(Finding(node.lineno, f"uses {_last(node)}: nothing may be kept between calls; leave it out"))
        elif isinstance(node, ast.ImportFrom):
            found += [Finding(node.lineno, f"imports {a.name}: nothing may be kept between calls")
                      for a in node.names if a.name in CACHES]  # fmt: skip
    inside = {id(n) for node in ast.walk(tree) if isinstance(node, Function) for n in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in inside and isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.append(Finding(node.lineno, f"writes {ast.unparse(node)}: nothing may be patched"))
    return found


@dataclass(frozen=True)
class _Given:
    """Functions whose first argument ends with the call. contexts: ids of the methods of autograd functions. hooks:
    names of the `pre_hook` functions of autotune configs. passing: ids of the methods of `_passing`."""

    contexts: frozenset[int]
    hooks: frozenset[str]
    passing: frozenset[int]


def _passing(tree: ast.Module) -> frozenset[int]:
    """ids of the methods of classes whose objects end with the call. Such a class is only called and derived from, and
    nothing that an import evaluates leads to it, nor a class of another kind."""
    own = {node.name: node for node in tree.body if isinstance(node, FunctionDef | ast.ClassDef)}
    classes = {name: node for name, node in own.items() if isinstance(node, ast.ClassDef)}
    usual = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    usual |= {id(base) for node in classes.values() for base in node.bases}
    plain = {name for name, node in classes.items() if not node.decorator_list and not node.keywords} - {"ModelNew"}
    plain -= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in usual}
    while more := {one for one in plain if not {getattr(base, "id", "") for base in classes[one].bases} <= plain}:
        plain -= more
    parts = [part for node in tree.body for part in _at_import(node, plain)]
    named = set[str]()
    while new := {name for part in parts for name in names_in(part)} - named:
        named |= new
        parts = [own[name] for name in new & own.keys()]
    left = plain - named if "type" not in names_in(tree) else ()
    return frozenset(id(one) for name in left for one in classes[name].body
                     if isinstance(one, ast.FunctionDef) and not one.decorator_list)  # fmt: skip


def _at_import(node: ast.stmt, plain: Set[str]) -> list[ast.AST]:
    """What an import evaluates of a statement, and classes beside `plain`, whose methods it may call."""
    if isinstance(node, FunctionDef):
        return [*node.decorator_list, node.args]
    if not isinstance(node, ast.ClassDef) or node.name not in plain:
        return [node]
    return [one for one in node.body if not isinstance(one, FunctionDef)]


def _is_autograd(node: ast.ClassDef) -> bool:
    return any(_last(base) == "Function" for base in node.bases)


def _applied_only(tree: ast.Module, autograd: Mapping[str, ast.ClassDef]) -> list[Finding]:
    """Findings for uses of an autograd function other than `.apply`, as `kernel_function`, and of its methods in those
    of another one with the context that these got: they could pass it state of an earlier call."""
    used = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "apply"}
    used |= {id(node.value) for node in tree.body if isinstance(node, ast.Assign)
             and [ast.unparse(target) for target in node.targets] == ["kernel_function"]}  # fmt: skip
    used |= {id(name) for node in autograd.values() for method in _methods(node) for name in _given_context(method)}
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [Finding(node.lineno, f"uses {node.id} for something else than {node.id}.apply: call that")
            for node in named if node.id in autograd and id(node) not in used]  # fmt: skip


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in CONTEXT_METHODS]


def _given_context(method: ast.FunctionDef) -> Iterator[ast.Name]:
    """`F` in each `F.forward(ctx, x)` of a method whose first argument is `ctx` and is bound to nothing else."""
    first = next((argument.arg for argument in parameters_of(method.args)), None)
    if any(first in stored_names(one) | {binding.name for binding in bindings(one)} for one in method.body):
        return
    for node in (part for statement in method.body for part in evaluated(statement)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as owner, attr=called), args=[ast.Name(id=given), *_]
            ) if given == first and called in CONTEXT_METHODS:
                yield owner


def _constructed_only(tree: ast.Module) -> list[Finding]:
    """Findings for constructors called by name, except the base class's: they could be passed state of an earlier
    call."""
    own = _own_names(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CONSTRUCTORS:
            base = "super" if isinstance(node.value, ast.Call) else "Module"
            named = node.value.func if isinstance(node.value, ast.Call) else node.value
            if _last(named) != base or base in own:
                found.append(Finding(node.lineno, f"uses {ast.unparse(node)}: call super().{node.attr}, or the class"))
    return found


def _own_names(tree: ast.Module) -> set[str]:
    """Every name that the source binds, except by imports."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, FunctionDef | ast.ClassDef)}
    return found | stored_names(tree)


def _hooks(tree: ast.Module) -> frozenset[str]:
    """Names of functions that are used only as `pre_hook` of autotune configs."""
    values = {id(keyword.value) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_config(node)
              for keyword in node.keywords if keyword.arg == "pre_hook"}  # fmt: skip
    if "Config" in _own_names(tree):
        return frozenset()
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    others = {node.id for node in named if id(node) not in values}
    return frozenset(node.id for node in named if id(node) in values and node.id not in others)


def _assigned_names(node: ast.stmt) -> set[str]:
    return {target.id if isinstance(target, ast.Name) else "" for target in assigned_targets(node)}


def _containers(body: list[ast.stmt], rule: str) -> list[Finding]:
    found = []
    for statement in body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        if all(name.startswith("__") for name in _assigned_names(statement)):
            continue  # __all__, __constants__: read by Python and torch
        if _holds_container(statement.value):
            found.append(Finding(statement.lineno, rule))
        elif _holds_iterator(statement.value):
            found.append(Finding(statement.lineno, KEEPS_PLACE))
        elif isinstance(statement.value, ast.Call) and _makes_tensor(statement.value):
            found.append(Finding(statement.lineno, "a tensor made outside of a call could keep results between calls"))
    return found


def _holds_container(value: ast.expr) -> bool:
    """Whether a value is or contains a container that can be filled later. Lists of `triton.Config` are allowed."""
    match value:
        case ast.List(elts=elements):
            return not elements or not all(_is_config(element) for element in elements)
        case ast.ListComp(elt=element):
            return not _is_config(element)
        case ast.Dict() | ast.Set() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Tuple(elts=elements):
            return any(_holds_container(element) for element in elements)
        case ast.BinOp(left=left, right=right):
            return _holds_container(left) or _holds_container(right)
        case ast.IfExp(body=body, orelse=orelse):
            return _holds_container(body) or _holds_container(orelse)
        case ast.Call(func=function, args=args, keywords=keywords):
            if _last(function) == "partial":
                return any(_holds_container(a) for a in [*args, *(k.value for k in keywords)])
            return _last(function) in CONTAINERS
        case _:
            return False


def _holds_iterator(value: ast.expr) -> bool:
    """Whether a value is or contains an iterator, whose position changes with each use."""
    match value:
        case ast.GeneratorExp():
            return True
        case ast.Tuple(elts=elements):
            return any(_holds_iterator(element) for element in elements)
        case ast.Call(func=function, args=args, keywords=keywords):
            inside = [*args, *(k.value for k in keywords)] if _last(function) == "partial" else []
            return _last(function) in ITERATORS or any(_holds_iterator(value) for value in inside)
        case _:
            return False


def _is_config(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _last(value.func) == "Config"


def _makes_tensor(value: ast.Call) -> bool:
    return isinstance(value.func, ast.Attribute) and value.func.attr in MAKES_TENSORS


def _defaults(function: Function) -> list[Finding]:
    defaults = defaults_of(function.args).values()
    found = [Finding(d.lineno, "a container as a default could keep results between calls; use None or a tuple")
             for d in defaults if _holds_container(d)]  # fmt: skip
    return found + [Finding(d.lineno, KEEPS_PLACE) for d in defaults if _holds_iterator(d)]


@dataclass(frozen=True)
class _Inside:
    """The function that is checked. first: its first argument. constructing: whether it is a constructor. has_context:
    whether `first` is the context of an autograd function. is_hook: whether it is a `pre_hook`, so that `first` is the
    arguments of a launch. local: names of its arguments and local values. passes: whether `first` ends with it."""

    first: str | None
    constructing: bool
    has_context: bool
    is_hook: bool
    local: frozenset[str]
    passes: bool


def _function(function: Function, given: _Given) -> list[Finding]:
    """The rules that one function breaks, without the functions inside it."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    nodes = [node for statement in body for node in evaluated(statement)]
    inside = _inside(function, body, nodes, given)
    broken = ((node, RULES[type(node)](node, inside)) for node in nodes if type(node) in RULES)
    return [Finding(getattr(node, "lineno", function.lineno), rule) for node, rule in broken if rule]


def _inside(function: Function, body: list[ast.stmt] | list[ast.expr], nodes: list[ast.AST], given: _Given) -> _Inside:
    arguments = [argument.arg for argument in parameters_of(function.args)]
    local = {*arguments, *(b.name for statement in body for b in bindings(statement))} - {"self", "cls"}
    local |= {a.arg for a in (function.args.vararg, function.args.kwarg) if a}
    local |= {name for node in nodes if isinstance(node, ast.comprehension) for name in targets_of(node)}
    local -= _aliases(nodes, local)
    first = arguments[0] if arguments else None
    passes = id(function) in given.passing
    constructing = not isinstance(function, ast.Lambda) and function.name in CONSTRUCTORS and not passes
    return _Inside(
        first, constructing, id(function) in given.contexts,
        not isinstance(function, ast.Lambda) and function.name in given.hooks,
        frozenset({*local, str(first)} if constructing else local), passes,
    )  # fmt: skip


def _attribute(node: ast.Attribute, inside: _Inside) -> str:
    is_size = inside.is_hook and node.attr == "block_shape" and isinstance(node.value, ast.Subscript)
    if isinstance(node.ctx, ast.Load) or _is_own(node, inside):
        return ""
    if base_name(node) == inside.first and (inside.constructing or inside.has_context or is_size):
        return ""
    cure = "; allocate memory in the call, and scratch of every call in __init__" * (base_name(node) == "self")
    return f"writes {ast.unparse(node)}: attributes are written only in __init__, and only those of self{cure}"


def _subscript(node: ast.Subscript, inside: _Inside) -> str:
    if isinstance(node.ctx, ast.Load) or base_name(node) in inside.local or _is_own(node.value, inside):
        return ""
    return f"writes into {ast.unparse(node.value)}, which outlives the call"


def _call(node: ast.Call, inside: _Inside) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in CHANGES:
            is_of_call = base_name(value) in inside.local or _is_own(value, inside)
            return "" if is_of_call else f"changes {ast.unparse(value)}, which outlives the call"
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name() | ast.Attribute() as asked, *_]):
            return "" if base_name(asked) in inside.local else KEEPS_PLACE
        case _:
            return ""


def _is_own(node: ast.expr, inside: _Inside) -> bool:
    """Whether `node` is an attribute of an object that ends with the call."""
    return inside.passes and isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == inside.first


def _assignment(node: ast.Assign | ast.AnnAssign, inside: _Inside) -> str:
    """In a constructor, no assignment may create an empty container or store an iterator in an attribute."""
    if not inside.constructing or node.value is None:
        return ""
    if _is_empty(node.value):
        return "an empty container could keep results between calls"
    kept_as_attribute = isinstance(node, ast.Assign) and any(isinstance(one, ast.Attribute) for one in node.targets)
    return KEEPS_PLACE if kept_as_attribute and _holds_iterator(node.value) else ""


RULES: dict[type[ast.AST], Callable[[Any, _Inside], str]] = {
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Assign: _assignment,
    ast.AnnAssign: _assignment,
}
"""The check of each kind of node in a function. It returns the broken rule, "" if there is none."""


def _aliases(nodes: list[ast.AST], local: set[str]) -> set[str]:
    """Local names of values that are not local, such as `cache` in `cache = self.cache`."""
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name) and base_name(node.value) not in local
    }


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=function, args=[], keywords=[]):
            return _last(function) in CONTAINERS
        case _:
            return False


def _last(node: ast.expr) -> str | None:
    """The last part of a name: without the module in front."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
