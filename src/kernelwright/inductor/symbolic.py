"""The sizes of one capture: constants of its kernels, which the host code reads from shapes."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kernelwright.inductor.arithmetic import factors_of, joined, names_in, parsed, terms_of, value_of
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.reading import Kernel, read_kernel
from kernelwright.inductor.templates import without_remainders
from kernelwright.inductor.writing import refusal, tuple_of
from kernelwright.model import Capture, Launch, Sizes

POINTS = 4
"""Sizes besides the captured one at which two expressions have to agree to be taken for equal."""


class Sized:
    """The kernels of a capture, without symbols among their parameters: one for each set of sizes that it is launched
    with. found: expressions of the host code for the names that kernels have in place of numbers."""

    def __init__(self, capture: Capture, sizes: Sizes) -> None:
        drawn = random.Random(0)  # the same candidate from the same capture
        others = [{name: drawn.randrange(1000, 3000) for name in sizes.values} for _ in range(POINTS)]
        self.found: dict[str, ast.expr] = {}
        self._points: list[dict[str, int | float]] = [{**one} for one in (sizes.values, *others)]
        self._read = {one.name: read_kernel(one) for one in capture.kernels}
        self.sizes = sizes
        self._made: dict[tuple[str, ...], Kernel] = {}

    def number(self, text: str) -> int | float:
        """The value of an expression of the host code at the captured size."""
        number: int | float = value_of(parsed(text), self._points[0])
        return number

    def add(self, name: str, text: str) -> ast.Name:
        """A name for an expression of the host code."""
        self.found[name] = parsed(text)
        for values in self._points:
            values[name] = value_of(self.found[name], values)
        return ast.Name(name, ast.Load())

    def launched(self, launch: Launch) -> tuple[Kernel, tuple[str, ...]]:
        """The kernel of a launch, and its arguments without those sizes that are constants of the kernel."""
        read = self._read[launch.kernel]
        named = dict(zip(read.runtime, launch.arguments, strict=False))
        if len(launch.arguments) != len(read.runtime):
            raise NotConverted(f"{read.name} is launched with other arguments than it has")
        own = {name: text for name, text in named.items() if "_ptr" not in name and not name.endswith("numel")}
        key = (read.name, *own.values(), *launch.grid)
        if key not in self._made:
            name = read.name if read.name not in {one for one, *_ in self._made} else f"{read.name}__{len(self._made)}"
            self._made[key] = self._with_sizes(read, name, own, launch.grid)
        return self._made[key], tuple(text for one, text in named.items() if one not in own)

    def _with_sizes(self, kernel: Kernel, name: str, given: Mapping[str, str], grid: tuple[str, ...]) -> Kernel:
        """The kernel whose sizes are no parameters, but names in `found`. given: the sizes of its launch."""
        own = {one: self.add(f"{one}_of_{name}", text).id for one, text in given.items()}
        floats = {number: self.add(f"float_{n}", text) for n, (number, text) in enumerate(self.sizes.floats.items())}
        main = _Sizes(own, floats).visit(copy.deepcopy(kernel.main))
        main.args.args = [one for one in main.args.args if one.arg not in own]
        if kernel.generated.tiles is not None:
            main = without_remainders(main, self._values)
        return replace(kernel, main=ast.fix_missing_locations(main), name=name, grid=grid)

    def _values(self, node: ast.expr) -> tuple[int, ...] | None:
        """The values of an expression at all points; None for what is not computed from sizes."""
        with suppress(NotConverted):
            return tuple(int(value_of(node, values)) for values in self._points)
        return None


class _Sizes(ast.NodeTransformer):
    """Renames the parameters for sizes, and writes what is computed from sizes only as a constant of the compiler.
    floats: names for numbers."""

    def __init__(self, own: Mapping[str, str], floats: Mapping[str, ast.Name]) -> None:
        self.own, self.floats, self.sizes = own, floats, {*own.values()}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.own.get(node.id, node.id), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.floats.get(repr(node.value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[dtype]) if self._is_size(value):
                return parsed(f"tl.full([1], {ast.unparse(value)}, {ast.unparse(dtype)})")
            case ast.Call(func=ast.Attribute(attr=function), args=[one, other]) if (
                function in INTEGER and self._is_size(one) and self._is_size(other)
            ):
                return ast.BinOp(one, INTEGER[function], other)
            case _:
                return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Collects the terms of a sum by what is no size: each is multiplied by one constant of the compiler."""
        if isinstance(node.left, ast.Name) and "_ptr" in node.left.id:
            return ast.BinOp(node.left, node.op, self.visit(node.right))
        terms = [self.visit(one) for one in terms_of(node)] if isinstance(node.op, ast.Add) else []
        if not any(names_in(term) & self.sizes for term in terms):
            self.generic_visit(node)
            return node
        groups: dict[str, tuple[list[ast.expr], list[ast.expr]]] = {}
        for term in terms:
            factors = factors_of(term)
            others = [one for one in factors if not self._is_size(one)]
            sizes = [one for one in factors if self._is_size(one)] or [ast.Constant(1)]
            group = groups.setdefault(" * ".join(sorted(map(ast.unparse, others))), ([], others))
            group[0].append(joined(sizes, ast.Mult))
        made = []
        for numbers, others in groups.values():
            total = joined(numbers, ast.Add)
            plain = [total] if not others or ast.unparse(total) != "1" else []
            made.append(joined([*plain, *others], ast.Mult))
        return joined(made, ast.Add)

    def _is_size(self, node: ast.expr) -> bool:
        inside = names_in(node)
        return (
            inside <= self.sizes
            and not any(isinstance(one, ast.Call) for one in ast.walk(node))
            and (bool(inside) or isinstance(node, ast.Constant | ast.UnaryOp))
        )


INTEGER: Mapping[str, ast.operator] = {"div_floor_integer": ast.FloorDiv(), "remainder_integer": ast.Mod()}


def host_lines(sizes: Sizes, arguments: Mapping[str, Sequence[str]], after: str) -> list[str]:
    """Host code that reads sizes from the shapes of arguments, and refuses those that the kernels do not serve.
    arguments: their sides, by name. after: the text after it; sizes that it does not name are not computed."""
    lines: list[str] = []
    checks: list[str] = []
    known: set[str] = set()
    for argument, sides in arguments.items():
        new = [
            n for n, side in enumerate(sides) if side in sizes.values and side not in known and side not in sides[:n]
        ]
        known |= {sides[n] for n in new}
        if sides and len(new) == len(sides):
            lines.append(f"{', '.join(sides)}{',' * (len(sides) == 1)} = {argument}.shape")
            continue
        if new:  # check the number of sides before `shape[n]` is read
            lines += refusal(f"{argument}.dim() != {len(sides)}", f"{argument} needs {len(sides)} dimensions")
        lines += [f"{sides[n]} = {argument}.shape[{n}]" for n in new]
        shape = tuple_of(sides)
        checks += refusal(f"tuple({argument}.shape) != {shape}", f"the kernels serve {argument} of shape {shape} only")
    for name, text, tests in sizes.reads:
        checks += [line for test in tests for line in _unless(test)]
        lines += [f"{name} = {text}"] if name != text else []
    read = f"{after} {' '.join(side for sides in arguments.values() for side in sides)}"
    small = [name for name, least in sizes.least.items() if least > 1 and re.search(rf"\b{name}\b", read)]
    if small:
        least = f"min({', '.join(small)})" if len(small) > 1 else small[0]
        checks += refusal(f"{least} < 2", "the kernels serve sides of at least 2")
    checks += [line for test in sizes.conditions for line in _unless(test)]
    return needed([*lines, *checks], after)


def _unless(test: str) -> list[str]:
    return refusal(f"not ({test})", f"the kernels serve sizes where {test}")


def needed(lines: Sequence[str], after: str) -> list[str]:
    """The lines without those that compute what no later line reads. after: the text after them."""
    kept: list[str] = []
    for line in reversed(lines):
        name, equals, _ = line.partition(" = ")
        if not (equals and name.isidentifier() and not re.search(rf"\b{name}\b", after)):
            kept.insert(0, line)
            after += f"\n{line}"
    return kept
