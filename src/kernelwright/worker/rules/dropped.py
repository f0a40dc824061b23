"""What a file does at import or in a call, and a text that was made of it does not. Pure syntax.

Steps of the normal form remove and replace code by its kind: a message, a guard, a function that nothing calls. Its
parts may do more than that kind does, for example change a tensor in an argument of a message.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterator, Set

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import FUNCTIONS, assigned_targets, base_name, dotted, imported_paths, names_in
from kernelwright.source.branches import runs_as_script
from kernelwright.source.kernels import in_kernels
from kernelwright.worker.rules import normal
from kernelwright.worker.rules.foreign import unknown
from kernelwright.worker.rules.framework import why_refused
from kernelwright.worker.rules.guards import CONTEXT_MANAGER
from kernelwright.worker.rules.imports import Finding
from kernelwright.worker.rules.inner import OF_SOURCES, STANDARD
from kernelwright.worker.rules.language import MODULES
from kernelwright.worker.rules.lazy import ALL, answers
from kernelwright.worker.rules.questions import questions
from kernelwright.worker.rules.scripts import scripts
from kernelwright.worker.rules.state import CHANGES, CONSTRUCTORS
from kernelwright.worker.rules.static import (
    ALLOWED_SETTERS,
    FORBIDDEN_CALLS,
    FORBIDDEN_NAMES,
    OF_THE_FILE,
    SETTERS,
    may_import,
)

IDLE = normal.WAITS | normal.SEEDS | normal.FOR_TRACERS | normal.WRAPPERS | OF_SOURCES | ALL | {
    CONTEXT_MANAGER, "torch.compile", "torch.device", "torch.no_grad", "torch.inference_mode",
}  # fmt: skip
"""What changes no tensor, and nothing of the module or of the framework that a call depends on."""

IDLE_PARTS = ("torch.library.", "torch.jit.", "torch.cuda.", "torch.fx.", "triton.testing.", "triton.language.")

BUILTINS = frozenset(vars(builtins)) - FORBIDDEN_NAMES - FORBIDDEN_CALLS - {"map", "filter", "next"}

FRESH = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr)
"""Expressions whose value nothing else has. An assignment with an operator then changes nothing else."""

METHODS = CHANGES | {"run", "warmup", "apply", "impl", "fallback"}
"""Methods that change their object, or launch."""


def dropped(source: str, made: str) -> list[Finding]:
    """What `source` calls, writes and asks of Python's modules where it runs, and `made` does not."""
    after = _Module(syntax.parse(made))
    before = _Module(syntax.parse(source), kept=after.own)
    after.acting |= before.acting
    after.special |= before.special
    left = Counter(key for node in ast.walk(after.tree) for key in after.acts(node))
    found = []
    tried = [node for node in before.run(tried=True) if before.calls_unknown(node)]
    for node in {id(node): node for node in (*before.run(), *tried)}.values():
        for key in before.acts(node):
            left[key] -= 1
            if left[key] < 0:
                found.append(Finding(getattr(node, "lineno", 1), f"{key}, which the judged text does not"))
    return sorted(set(found))


def of_packages(source: str) -> list[Finding]:
    """What `source` calls of unknown packages where it is imported, other than to make a logger."""
    module = _Module(syntax.parse(source))
    top = [one for one in module.tree.body if not (isinstance(one, (*FUNCTIONS, ast.ClassDef)) or runs_as_script(one))]
    called = [one for node in top for one in _evaluated(node) if module.calls_unknown(one)]
    return [Finding(one.lineno, f"calls {ast.unparse(one.func)}, which the judged text does not")
            for one in called if isinstance(one, ast.Call)]  # fmt: skip


class _Module:
    """acting: functions and methods of the module that act. special: whether some run where no call is written. kept:
    functions that the judged text has, too; decorators of unknown packages above others change nothing of it."""

    def __init__(self, tree: ast.Module, kept: Set[str] | None = None) -> None:
        self.tree, self.paths, self.inside = tree, imported_paths(tree), in_kernels(tree)
        self.silent = normal.silent_names(tree, self.paths)
        own = [node for node in ast.walk(tree) if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
        kernels = normal.decorated_behind(tree, self.paths)
        self.inside |= {id(part) for node in own if isinstance(node, ast.FunctionDef) and id(node) in kernels
                        for statement in node.body for part in ast.walk(statement)}  # fmt: skip
        self.own = {node.name for node in own}
        self.answers = answers(tree)
        self.above = {id(one) for node in own for one in node.decorator_list}
        self.unknown = unknown(tree)
        registered = [one for node in own if kept is not None and node.name not in kept for one in node.decorator_list
                      if base_name(one) in self.unknown]  # fmt: skip
        asked = [part for one in questions(tree) for part in ast.walk(one)]
        named = [one for node in ast.walk(tree) if isinstance(node, ast.Call) and base_name(node) in self.silent
                 for one in node.args if isinstance(one, ast.Name)]  # fmt: skip
        annotations = [value for node in ast.walk(tree) for field in ("annotation", "returns")
                       if isinstance(value := getattr(node, field, None), ast.expr)]  # fmt: skip
        named += [part for one in annotations for part in ast.walk(one) if isinstance(part, ast.Name)]
        made = [part for node in own if node.name in CONSTRUCTORS for part in ast.walk(node)
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"]  # fmt: skip
        loggers = [part for node in ast.walk(tree) if self._makes_logger(node) for part in ast.walk(node)]
        self.skipped = {id(one) for one in (*asked, *named, *made, *registered, *loggers)}
        self.fresh = {one.id for node in ast.walk(tree) if isinstance(getattr(node, "value", None), FRESH)
                      for one in assigned_targets(node) if isinstance(one, ast.Name)}  # fmt: skip
        self.acting, self.special = set[str](), False
        parts = [(node.name, part) for node in own if isinstance(node, ast.FunctionDef)
                 for statement in node.body for part in ast.walk(statement) if id(part) not in self.inside]  # fmt: skip
        while more := {name for name, part in parts if name not in self.acting and any(self.acts(part))}:
            self.acting |= more
        self.special = any(name.startswith("__") and name not in CONSTRUCTORS for name in self.acting)

    def run(self, tried: bool = False) -> Iterator[ast.AST]:
        """The nodes of host code that an import evaluates, and those of functions and classes that these or a call
        name; or those of statements that only try out what the module defines."""
        trying, seen = scripts(self.tree), set() if tried else set(normal.ENTRIES)
        parts = [part for node in self.tree.body if not runs_as_script(node) and (id(node) in trying) is tried
                 for part in _evaluated(node)]  # fmt: skip
        seen |= {
            name for part in parts if isinstance(part, ast.Call) or id(part) in self.above for name in names_in(part)
        }
        left = [node for node in self.tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
        while parts:
            yield from (part for part in parts if id(part) not in self.inside)
            more = [node for node in left if node.name in seen]
            left = [node for node in left if node.name not in seen]
            above = {id(part) for node in more for part in _evaluated(node)}
            parts = [part for node in more for part in ast.walk(node) if id(part) not in above]
            seen |= {part.id for part in parts if isinstance(part, ast.Name)}

    def acts(self, node: ast.AST) -> Iterator[str]:
        """What a node does beside computing, in words."""
        if id(node) in self.skipped:
            return
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Call(func=wrapper, args=[kernel]))) if (
                dotted(wrapper, self.paths) in normal.WRAPPERS
            ):
                yield f"launches {ast.unparse(kernel).rpartition('.')[2]}"
            case ast.Call(func=ast.Subscript(value=kernel)):
                yield f"launches {ast.unparse(kernel).rpartition('.')[2]}"
            case ast.Call(func=function) if self.calls_unknown(node) or _is_given(node) or not self.is_idle(function):
                yield f"calls {ast.unparse(function)}"
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) if name in self.acting:
                yield f"uses {name}"
            case ast.Constant(value=str(name)) if name.endswith("_") and name.isidentifier():
                yield f"names {name}"
            case ast.AugAssign(target=ast.Name(id=name)) if name not in self.fresh:
                yield f"changes {name}"
            case ast.JoinedStr() | ast.BinOp() | ast.Compare() | ast.Subscript(ctx=ast.Load()) if self.special:
                yield f"evaluates {ast.unparse(node)}"
            case ast.Attribute(attr=name, ctx=ast.Load()) if name.endswith("_") and not name.endswith("__"):
                yield f"uses .{name}"
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield from [f"writes {ast.unparse(node)}"] * (ast.unparse(node) not in self.answers)
            case ast.FunctionDef(name=name) if name in MODULES[STANDARD].allowed:
                yield f"defines {name}"
            case ast.Global(names=names) if not self.answers.issuperset(names):
                yield f"keeps {', '.join(names)} for the next call"
            case ast.Name(id=name, ctx=ast.Load()) if name in OF_THE_FILE or self._is_of_python(name):
                yield f"uses {name}"
            case ast.Name() | ast.Attribute() if id(node) in self.above and not self.is_idle(node):
                yield f"calls {ast.unparse(node)}"

    def calls_unknown(self, node: ast.AST) -> bool:
        """Whether `node` calls something of an unknown package, or gives it to a function that may call it."""
        if not isinstance(node, ast.Call) or id(node) in self.skipped:
            return False
        only_reads = self._is_silent(node) or getattr(node.func, "id", "") == "isinstance"
        return not self.unknown.isdisjoint(names_in(node.func if only_reads else node))

    def _makes_logger(self, node: ast.AST) -> bool:
        """Whether `node` calls a function that makes a logger, of any package, with texts or the module's name."""
        makes = isinstance(node, ast.Call) and normal.makes_logger(node, self.paths)
        return makes and names_in(node) <= OF_THE_FILE | {base_name(node)}

    def is_idle(self, function: ast.expr) -> bool:
        """Whether a call of `function` changes nothing that other code reads, or the function is one of the module."""
        path, name = dotted(function, self.paths), getattr(function, "attr", getattr(function, "id", ""))
        if (name.startswith(SETTERS) and name not in ALLOWED_SETTERS) or base_name(function) in self.unknown:
            return False
        match function:
            case _ if path is not None:
                module, _, last = path.rpartition(".")
                is_known = not path.startswith("torch.") and (may_import(module, last) or not why_refused(path))
                is_idle = is_known or path in IDLE or path.startswith(IDLE_PARTS)
                return (is_idle or self._is_silent(function)) and path not in normal.TRACERS
            case ast.Name():
                return name in self.own | BUILTINS | self.silent
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                return True
            case ast.Attribute():
                return self._is_silent(function) or not (name in METHODS or name.startswith("__"))
            case ast.Call(func=inner):
                return dotted(inner, self.paths) is not None and self.is_idle(inner)
            case _:
                return False

    def _is_silent(self, node: ast.expr) -> bool:
        return base_name(node) in self.silent and not self.special

    def _is_of_python(self, name: str) -> bool:
        """Whether a name is something of a module of the standard library that host code may not use."""
        path = self.paths.get(name, "")
        module, _, last = path.rpartition(".")
        known = may_import(path) or may_import(module, last) or name in self.silent or path == CONTEXT_MANAGER
        return path.partition(".")[0] in sys.stdlib_module_names and not known


def _is_given(call: ast.Call) -> bool:
    """Whether a call says where its result goes, or names an operator of the framework, which it may replace."""
    texts = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    of_library = "library" in ast.unparse(call.func)
    is_made = of_library and any(isinstance(one, ast.BinOp | ast.JoinedStr) for one in call.args)
    is_placed = any(word.arg in ("out", "inplace") for word in call.keywords)
    return is_made or is_placed or any(text.startswith("aten") for text in texts)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, without the bodies of functions: what a definition evaluates."""
    yield node
    for child in ast.iter_child_nodes(node):
        is_inside = isinstance(node, FUNCTIONS) and child in node.body
        if not is_inside and not (isinstance(node, ast.Lambda) and child is node.body):
            yield from _evaluated(child)
