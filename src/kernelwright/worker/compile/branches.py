"""The kind of each expression of a kernel in Triton's compiler: a constant with its value, or a device value with its
type. Every branch, trip count and specialisation that the compiler chose follows from the kinds.

`Watch` hooks into Triton's code generator and makes a report; `Branches` reads reports in the interpreter's process.
A report has one entry for each specialisation of each function: kinds by the unrolled iterations around an expression
and the expression's index in `instrument.Sites`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.compiler.code_generator import CodeGenerator
from triton.language import core
from triton.runtime.jit import JITFunction

from kernelwright.worker.compile.instrument import NotInstrumented, Position, Sites, position_of, rewriting
from kernelwright.worker.compile.messages import Specialised

Kind = str | list[Any]
"""Kind of an expression as text, for a tuple a list of kinds: "int 3", "tensor fp32", "tensor <64,fp32>"."""

Path = tuple[tuple[int, int], ...]
"""Unrolled loops (or comprehensions) around an expression: index and number of the iteration of each."""

DIFFERS = "differs"
"""Kind of an expression for which the compiler reported two kinds in one place; the interpreter accepts neither."""

UNROLLED = "unrolled"
"""Prefix of the kind of an unrolled loop; the number of its iterations follows."""

SPECIALISATION = "_kernelwright_specialisation"
"""Attribute of a code generator with the `Specialisation` that it visits."""

Visit = Callable[[Any, Any], Any]


def kind_of(value: Any) -> Kind:
    """The kind of a value; the same for a value of the compiler and its counterpart in the interpreter."""
    while isinstance(value, core.constexpr):
        value = value.value
    if isinstance(value, tl.tensor):
        return tensor_kind(value.type.name)
    if isinstance(value, tuple | list | core.tuple):
        return [kind_of(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tl.dtype):
        return f"dtype {value}"
    if isinstance(value, core.tensor_descriptor_base):
        return f"descriptor {value.block_type}"
    if callable(value) and hasattr(value, "fn"):
        return f"function {value.fn.__name__}"
    return "other"


@cache
def tensor_kind(name: str) -> str:
    """The kind of a tensor, by its type's name, in whose shape "<(64,), fp32>" and "<['64'], fp32>" are the same."""
    return "tensor " + name.translate(str.maketrans("", "", "[]()' ")).replace(",,", ",")


@dataclass
class _Loop:
    """A loop or comprehension that is being visited. body: the nodes that are visited once per unrolled iteration."""

    body: object
    target: str
    index: int
    count: int = 0
    at_run_time: bool = False


class Specialisation:
    """One function compiled for arguments of certain kinds, while the code generator visits it."""

    def __init__(self, function: str, sites: Sites, arguments: list[Kind]) -> None:
        self.function, self.sites, self.arguments = function, sites, arguments
        self.path: Path = ()
        self.found: dict[Path, dict[int, Kind]] = {(): {}}
        self.loops: list[_Loop] = []
        self.augmented: ast.AugAssign | None = None
        self.muted: Position | None = None
        """Position of x in `x += y`: after the assignment the code generator visits x again and ignores the result."""

    def note(self, index: int, kind: Kind) -> None:
        here = self.found[self.path]
        here[index] = kind if here.get(index, kind) == kind else DIFFERS

    def note_at(self, node: ast.expr, value: Any) -> None:
        position = position_of(node, 1)
        index = self.sites.index.get(position)
        if index is not None and position != self.muted:
            self.note(index, kind_of(value))
        if self.augmented is not None and position == position_of(self.augmented, 1):
            self.muted = position_of(self.augmented.target, 1)

    def innermost(self, body: object) -> _Loop | None:
        """The innermost loop, if `body` is its body; otherwise None."""
        return self.loops[-1] if self.loops and self.loops[-1].body is body else None

    @contextmanager
    def iteration(self, loop: _Loop) -> Iterator[None]:
        outer = self.path
        self.path = (*outer, (loop.index, loop.count))
        self.found.setdefault(self.path, {})
        loop.count += 1
        yield
        self.path = outer

    def reported(self) -> Specialised:
        """The report for `Branches`. Iterations with the same kinds as the one before share one entry of `ways`."""
        ways: list[tuple[tuple[int, Kind], ...]] = []
        paths = []
        for path, found in self.found.items():
            way = tuple(found.items())
            if way not in ways[-1:]:
                ways.append(way)
            paths.append((path, len(ways) - 1))
        return Specialised(
            function=self.function, arguments=tuple(self.arguments), ways=tuple(ways), paths=tuple(paths)
        )


class Watch:
    """Records every specialisation of a module's functions that the code generator visits inside `watching`. sites:
    what finds the sites of a function."""

    def __init__(self, module: ModuleType, sites: dict[str, Callable[[], Sites]]) -> None:
        self.module, self.sites = module, sites
        self.seen: list[Specialisation] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hook into Triton's code generator inside this block."""
        hooks: dict[str, Callable[..., Any]] = {
            "visit": self._expression, "visit_compound_statement": self._statements, "visit_For": self._loop,
            "visit_ListComp": self._loop, "visit_AugAssign": self._augmented,
        }  # fmt: skip
        kept = {name: getattr(CodeGenerator, name) for name in hooks}
        for name, hook in hooks.items():
            setattr(CodeGenerator, name, _hooked(hook, kept[name]))
        try:
            yield
        finally:
            for name, original in kept.items():
                setattr(CodeGenerator, name, original)

    def _expression(self, generator: Any, node: ast.AST | None, original: Visit) -> Any:
        here: Specialisation | None = getattr(generator, SPECIALISATION, None)
        if here is None or not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
            return original(generator, node)
        loop = here.innermost(node)  # the element of a comprehension
        with here.iteration(loop) if loop else nullcontext():
            result = original(generator, node)
            here.note_at(node, result)
        return result

    def _statements(self, generator: Any, statements: Any, original: Visit) -> Any:
        """Hook for a block of statements: the body of a function, of a branch or of a loop."""
        here: Specialisation | None = getattr(generator, SPECIALISATION, None) or self._entered(generator)
        loop = here.innermost(statements) if here else None
        if here is None or loop is None:
            return original(generator, statements)
        counter = generator.lscope[loop.target]
        if isinstance(counter, core.constexpr):
            with here.iteration(loop):
                return original(generator, statements)
        loop.at_run_time = True
        here.note(loop.index, kind_of(counter))
        return original(generator, statements)

    def _entered(self, generator: Any) -> Specialisation | None:
        """A new specialisation for a function whose body is being visited; None if it is not from this module."""
        function = generator.jit_fn
        if not isinstance(function, JITFunction) or function.fn.__globals__ is not self.module.__dict__:
            return None
        name = function.fn.__name__
        sites = self.sites[name]()
        arguments = [kind_of(generator.lscope[parameter]) for parameter in sites.parameters]
        one = Specialisation(name, sites, arguments)
        setattr(generator, SPECIALISATION, one)
        self.seen.append(one)
        return one

    def _loop(self, generator: Any, node: ast.For | ast.ListComp, original: Visit) -> Any:
        here: Specialisation | None = getattr(generator, SPECIALISATION, None)
        place = node.iter if isinstance(node, ast.For) else node
        index = here.sites.index.get(position_of(place, 1)) if here else None
        if here is None or index is None:  # the interpreter never runs a loop without a site
            return original(generator, node)
        if isinstance(node, ast.For):
            loop = _Loop(node.body, ast.unparse(node.target), index)
        else:
            loop = _Loop(node.elt, "", index)
        here.loops.append(loop)
        result = original(generator, node)
        here.loops.pop()
        if isinstance(node, ast.For) and not loop.at_run_time:
            here.note(loop.index, f"{UNROLLED} {loop.count}")
        return result

    def _augmented(self, generator: Any, node: ast.AugAssign, original: Visit) -> Any:
        here: Specialisation | None = getattr(generator, SPECIALISATION, None)
        if here is None:
            return original(generator, node)
        here.augmented = node
        result = original(generator, node)
        here.augmented = here.muted = None
        return result


@contextmanager
def watching(module: ModuleType, source: str | None) -> Iterator[list[Specialised]]:
    """A list that contains the reports on all that Triton compiles inside this block, after the block has ended. It
    stays empty if the source cannot be instrumented.

    source: the module's text, None for no report. Triton's cache is bypassed, because cached code is not visited.
    """
    report: list[Specialised] = []
    if source is None:
        yield report
        return
    try:
        watch = Watch(module, dict(rewriting(source)[1]))
    except NotInstrumented:
        yield report
        return
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    with watch.watching():
        yield report
    report.extend(one.reported() for one in watch.seen)


def _hooked(hook: Callable[..., Any], original: Visit) -> Visit:
    return lambda generator, node: hook(generator, node, original)


class Way:
    """One specialisation from a report. arguments: the kind of each parameter. paths: the kind of each expression by
    index, for each combination of unrolled iterations."""

    def __init__(self, report: Specialised) -> None:
        self.function = report.function
        self.arguments: list[Kind] = list(report.arguments)
        ways: list[dict[int, Kind]] = [dict(way) for way in report.ways]
        self.paths: dict[Path, dict[int, Kind]] = {path: ways[number] for path, number in report.paths}


class Branches:
    """The compilers' reports on the launches of a plan, by function and kinds of arguments."""

    def __init__(self, reports: Sequence[Sequence[Specialised]]) -> None:
        self.ways: dict[str, list[Way]] = {}
        self.exact: dict[tuple[str, str], Way] = {}
        for way in (Way(one) for report in reports for one in report):
            key = (way.function, str(way.arguments))
            known = self.exact.get(key)
            if known is None:
                self.exact[key] = way
                self.ways.setdefault(way.function, []).append(way)
            elif known.paths != way.paths:  # they differ by options of the launch, which arguments do not show
                known.paths.clear()
        for ways in self.ways.values():  # constants first: where a number fits a constant and a type, Triton took it
            ways.sort(key=lambda way: str(way.arguments).count("tensor "))
