"""The sizes of one capture: symbols in its text become names of the problem, which the host code reads from shapes."""

from __future__ import annotations

import ast
import copy
import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.inductor.arithmetic import factors_of, is_size, named, terms_of
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.reading import Kernel, Module
from kernelwright.inductor.templates import with_values
from kernelwright.model import Capture, Sizes

POINTS = 4
"""Sizes besides the captured one at which two expressions have to agree to be taken for equal."""


class Holes:
    """Names in place of numbers. values: at the captured size, then at others by chance. found: expressions of the host
    code. in_kernels: those of the names that kernels have."""

    def __init__(self, values: Mapping[str, tuple[int | float, ...]]) -> None:
        self.values = dict(values)
        self.found: dict[str, str] = {}
        self.in_kernels: dict[str, str] = {}

    def at(self, node: ast.expr, point: int) -> int | float:
        """The value of an expression at one of the sizes. Raises `NotConverted` where it is not a number."""
        try:
            # eval is safe here: Inductor generated the text.
            value: int | float = eval(ast.unparse(node), dict(FUNCTIONS), {n: v[point] for n, v in self.values.items()})
        except Exception as error:
            raise NotConverted(f"sizes that are not numbers: {ast.unparse(node)[:120]}") from error
        return value

    def add(self, name: str, value: ast.expr) -> None:
        """A name for an expression of known names."""
        self.values[name] = tuple(self.at(value, point) for point in range(POINTS + 1))
        self.found[name] = ast.unparse(named(copy.deepcopy(value), self.found))


class _Cdiv:
    @staticmethod
    def cdiv(one: int, other: int) -> int:
        return -(-one // other)


FUNCTIONS = {"__builtins__": {}, "max": max, "min": min, "float": float, "triton": _Cdiv}


def sized(module: Module, sizes: Sizes, count: int) -> tuple[Module, Holes]:
    """The module without symbols among its arguments and parameters. count: of its tensors."""
    drawn = random.Random(0)  # the same candidate from the same text
    at = {name: (value, *(drawn.randrange(1000, 3000) for _ in range(POINTS))) for name, value in sizes.values.items()}
    holes = Holes(at)
    holes.found.update({name: name for name in at})
    for symbol, text in sizes.names.items():
        holes.add(symbol, ast.parse(text, mode="eval").body)
    symbols = module.arguments[: len(module.arguments) - count]
    steps: list[ast.stmt] = []
    kernels: dict[str, Kernel] = {}
    passed: dict[tuple[str, ...], str] = {}
    for step in module.steps:
        match step:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_size(value, holes.found):
                holes.add(name, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=given) as call) if (
                name in module.kernels
            ):
                kernel = module.kernels[name]
                extra = [n for n, one in enumerate(_runtime(kernel)) if "_ptr" not in one and not one.endswith("numel")]
                texts = (name, *(holes_text(given[n], holes) for n in extra))
                if texts not in passed:
                    passed[texts] = name if name not in kernels else f"{name}__{len(passed)}"
                    kernels[passed[texts]] = _with_sizes(
                        kernel, passed[texts], [given[n] for n in extra], extra, holes, sizes
                    )
                assert isinstance(call.func, ast.Attribute)
                call.func.value = ast.Name(passed[texts], ast.Load())
                call.args = [one for n, one in enumerate(given) if n not in extra]
                steps.append(step)
            case _:
                steps.append(step)
    return Module(kernels, module.arguments[len(symbols) :], tuple(steps), module.shapes), holes


def holes_text(node: ast.expr, holes: Holes) -> str:
    return ast.unparse(named(copy.deepcopy(node), holes.found))


def _runtime(kernel: Kernel) -> list[str]:
    return [one.arg for one in kernel.main.args.args if one.annotation is None]


def _with_sizes(
    kernel: Kernel, name: str, given: Sequence[ast.expr], places: Sequence[int], holes: Holes, sizes: Sizes
) -> Kernel:
    """The kernel whose sizes are no parameters, but names of `holes`. given: the sizes of its launch."""
    parameters = [_runtime(kernel)[n] for n in places]
    own = {one: f"{one}_of_{name}" for one in parameters}
    for one, value in zip(parameters, given, strict=True):
        holes.add(own[one], value)
        holes.in_kernels[own[one]] = holes.found[own[one]]
    main = _Sizes(own, holes, sizes.floats).visit(copy.deepcopy(kernel.main))
    main.args.args = [one for one in main.args.args if one.arg not in own]
    if kernel.template is not None:
        return _with_values(replace(kernel, generated_name=kernel.name, name=name), main, own, holes)
    return replace(kernel, main=ast.fix_missing_locations(main), name=name, generated_name=kernel.name)


def _with_values(kernel: Kernel, main: ast.FunctionDef, own: Mapping[str, str], holes: Holes) -> Kernel:
    """A template's kernel with the values of its sizes, and a grid. main: its text without parameters for sizes."""

    def values(node: ast.expr) -> tuple[int, ...] | None:
        if not is_size(node, holes.values):
            return None
        return tuple(int(holes.at(node, point)) for point in range(POINTS + 1))

    assert kernel.template is not None
    sizes = {name: named(copy.deepcopy(one), own) for name, one in kernel.template.sizes.items()}
    template = with_values(replace(kernel.template, main=main, sizes=sizes), values)
    grid = template.grid(kernel.grid, [int(holes.at(one, 0)) for one in kernel.grid])
    return replace(kernel, main=template.main, template=template, grid=grid)


class _Sizes(ast.NodeTransformer):
    """Renames the parameters for sizes, and writes what is computed from sizes only as a constant of the compiler."""

    def __init__(self, own: Mapping[str, str], holes: Holes, floats: Mapping[str, str]) -> None:
        self.own, self.holes, self.floats = own, holes, floats

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.own.get(node.id, node.id), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is float and (text := self.floats.get(repr(node.value))) is not None:
            name = f"float_{len(self.holes.values)}"
            self.holes.add(name, ast.parse(text, mode="eval").body)
            self.holes.in_kernels[name] = self.holes.found[name]
            return ast.Name(name, ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[dtype]) if self._is_size(value):
                return ast.parse(f"tl.full([1], {ast.unparse(value)}, {ast.unparse(dtype)})", mode="eval").body
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
        if not any(
            isinstance(one, ast.Name) and one.id in self.own.values() for term in terms for one in ast.walk(term)
        ):
            self.generic_visit(node)
            return node
        groups: dict[str, tuple[list[ast.expr], list[ast.expr]]] = {}
        for term in terms:
            factors = factors_of(term)
            others = [one for one in factors if not self._is_size(one)]
            number = [one for one in factors if self._is_size(one)] or [ast.Constant(1)]
            group = groups.setdefault(" * ".join(sorted(map(ast.unparse, others))), ([], others))
            group[0].append(functools.reduce(lambda one, other: ast.BinOp(one, ast.Mult(), other), number))
        made = []
        for numbers, others in groups.values():
            total = functools.reduce(lambda one, other: ast.BinOp(one, ast.Add(), other), numbers)
            plain = [total] if not others or ast.unparse(total) != "1" else []
            made.append(functools.reduce(lambda one, other: ast.BinOp(one, ast.Mult(), other), [*plain, *others]))
        return functools.reduce(lambda one, other: ast.BinOp(one, ast.Add(), other), made)

    def _is_size(self, node: ast.expr) -> bool:
        inside = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        return (
            inside <= {*self.own.values()}
            and not any(isinstance(one, ast.Call) for one in ast.walk(node))
            and (bool(inside) or isinstance(node, ast.Constant | ast.UnaryOp))
        )


INTEGER: Mapping[str, ast.operator] = {"div_floor_integer": ast.FloorDiv(), "remainder_integer": ast.Mod()}


def numbers_only(capture: Capture) -> Sizes:
    """The sizes of a capture without symbols."""
    shapes = tuple(tuple(map(str, one.shape)) for one in capture.tensors)
    return Sizes(names={}, values={}, shapes=shapes)


def is_told_by(sizes: Sizes, argument: str) -> bool:
    """Whether a size is computed from the shape of an argument."""
    return any(f"{argument}.shape[" in text for _, text, _ in sizes.reads)


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
            lines += [f"if {argument}.dim() != {len(sides)}:"]
            lines += [f'    raise ValueError("{argument} needs {len(sides)} dimensions")']
        lines += [f"{sides[n]} = {argument}.shape[{n}]" for n in new]
        shape = f"({', '.join(sides)}{',' * (len(sides) == 1)})"
        checks += _refusal(f"tuple({argument}.shape) != {shape}", f"the kernels serve {argument} of shape {shape} only")
    for name, text, tests in sizes.reads:
        checks += [
            line for test in tests for line in _refusal(f"not ({test})", f"the kernels serve sizes where {test}")
        ]
        lines.append(f"{name} = {text}")
    read = f"{after} {' '.join(side for sides in arguments.values() for side in sides)}"
    small = [name for name, least in sizes.least.items() if least > 1 and re.search(rf"\b{name}\b", read)]
    if small:
        least = f"min({', '.join(small)})" if len(small) > 1 else small[0]
        checks += _refusal(f"{least} < 2", "the kernels serve sides of at least 2")
    for test in sizes.conditions:
        checks += _refusal(f"not ({test})", f"the kernels serve sizes where {test}")
    return needed([*lines, *checks], after)


def needed(lines: Sequence[str], after: str) -> list[str]:
    """The lines without those that compute what no later line reads. after: the text after them."""
    kept: list[str] = []
    for line in reversed(lines):
        name, equals, _ = line.partition(" = ")
        if not (equals and name.isidentifier() and not re.search(rf"\b{name}\b", after)):
            kept.insert(0, line)
            after += f"\n{line}"
    return kept


def _refusal(test: str, words: str) -> list[str]:
    words = words.replace('"', "'")
    return [f"if {test}:", f'    raise ValueError("{words}")']
