"""What the compiler took each expression of a kernel for: a constant with its value, or a value on the device with its
type. Every branch, trip count and specialisation that it chose follows from these.

`Watch` listens to Triton's code generator and makes a report; `Branches` reads reports in the interpreter's process.
One entry for each specialisation of each function: by its arguments, the unrolled iterations around an expression and
the expression's index in `instrument.Sites`.
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

from kernelwright.worker.compile.instrument import NotInstrumented, Position, Sites, instrument, position_of
from kernelwright.worker.compile.messages import Specialised

Kind = str | list[Any]
"""What an expression is, as text, or for a tuple a list of them: "int 3", "tensor fp32", "tensor <64,fp32>"."""

Path = tuple[tuple[int, int], ...]
"""Index of each unrolled loop (or comprehension) around an expression, and which iteration of it."""

DIFFERS = "differs"
"""The kind of an expression that the compiler found to be two things in one place: the interpreter accepts neither."""

UNROLLED = "unrolled"
"""The kind of a loop that was unrolled, before the number of its iterations."""

SPECIALISATION = "_kernelwright_specialisation"
"""The attribute by which a code generator knows what it is visiting."""

Visit = Callable[[Any, Any], Any]


def kind_of(value: Any) -> Kind:
    """The same for the compiler's values and the interpreter's."""
    while isinstance(value, core.constexpr):
        value = value.value
    if isinstance(value, tl.tensor):
        return "tensor " + type_name(str(value.type))
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
def type_name(text: str) -> str:
    """A type's text without what depends on how its shape came about: "<(64,), fp32>" and "<['64'], fp32>" are one."""
    return text.translate(str.maketrans("", "", "[]()' ")).replace(",,", ",")


@dataclass
class _Loop:
    """A loop or comprehension that is being visited. body: what is visited once for each unrolled iteration."""

    body: object
    target: str
    index: int
    count: int = 0
    at_run_time: bool = False


class Specialisation:
    """One function as compiled for arguments of certain kinds, while the code generator visits it."""

    def __init__(self, function: str, sites: Sites, arguments: list[Kind]) -> None:
        self.function, self.sites, self.arguments = function, sites, arguments
        self.path: Path = ()
        self.found: dict[Path, dict[int, Kind]] = {(): {}}
        self.loops: list[_Loop] = []
        self.augmented: ast.AugAssign | None = None
        self.muted: Position | None = None
        """In `x += y`, x: after the assignment the code generator visits it once more, and the result is not used."""

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
        """The loop that `body` is the body of."""
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
        """For `Branches`; iterations that equal the one before are written once."""
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
    """Records every specialisation of a module's functions that the code generator visits inside `watching`."""

    def __init__(self, module: ModuleType, sites: dict[str, Sites]) -> None:
        self.module, self.sites = module, sites
        self.seen: list[Specialisation] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Listen to whatever the code generator compiles in here."""
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
        """Those of a function, and then those of its branches and loops."""
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
        """What begins with the body of a function, None where it is none of the module's."""
        function = generator.jit_fn
        if not isinstance(function, JITFunction) or function.fn.__globals__ is not self.module.__dict__:
            return None
        name = function.fn.__name__
        arguments = [kind_of(generator.lscope[parameter]) for parameter in self.sites[name].parameters]
        one = Specialisation(name, self.sites[name], arguments)
        setattr(generator, SPECIALISATION, one)
        self.seen.append(one)
        return one

    def _loop(self, generator: Any, node: ast.For | ast.ListComp, original: Visit) -> Any:
        here: Specialisation | None = getattr(generator, SPECIALISATION, None)
        place = node.iter if isinstance(node, ast.For) else node
        index = here.sites.index.get(position_of(place, 1)) if here else None
        if here is None or index is None:  # not compared, and never run by the interpreter
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
    """A list that holds a report of what Triton compiled in here once this ends; empty where nothing can be compared.

    source: the module's text, None for no report. Triton's cache is not read: what it holds is not visited.
    """
    report: list[Specialised] = []
    if source is None:
        yield report
        return
    try:
        watch = Watch(module, instrument(source).sites)
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
    """What the compiler found in one specialisation. arguments: the kind of each parameter. paths: by unrolled
    iteration, the kind of each expression by index."""

    def __init__(self, report: Specialised) -> None:
        self.function = report.function
        self.arguments: list[Kind] = list(report.arguments)
        ways: list[dict[int, Kind]] = [dict(way) for way in report.ways]
        self.paths: dict[Path, dict[int, Kind]] = {path: ways[number] for path, number in report.paths}


class Branches:
    """What compilers reported for the launches of a plan."""

    def __init__(self, reports: Sequence[Sequence[Specialised]]) -> None:
        self.ways: dict[str, list[Way]] = {}
        self.exact: dict[tuple[str, str], Way] = {}
        for way in (Way(one) for report in reports for one in report):
            key = (way.function, str(way.arguments))
            known = self.exact.get(key)
            if known is None:
                self.exact[key] = way
                self.ways.setdefault(way.function, []).append(way)
            elif known.paths != way.paths:  # by options of the launch, which arguments do not show
                known.paths.clear()
        for ways in self.ways.values():  # where a number fits a constant and a type, Triton compiled the constant
            ways.sort(key=lambda way: str(way.arguments).count("tensor "))
