"""The sizes of one capture: constants of its kernels, which the host code reads from shapes."""

from __future__ import annotations

import ast
import copy
import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.inductor.arithmetic import factors_of, is_size, terms_of
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.reading import Kernel, read_kernel
from kernelwright.inductor.templates import without_remainders
from kernelwright.model import Capture, Launch, Sizes

POINTS = 4
"""Sizes besides the captured one at which two expressions have to agree to be taken for equal."""


class Holes:
    """Names in kernels in place of numbers. values: at the captured size, then at others by chance; of the problem's
    names, too. found: expressions of the host code."""

    def __init__(self, sizes: Sizes) -> None:
        drawn = random.Random(0)  # the same candidate from the same capture
        self.values: dict[str, tuple[int | float, ...]] = {
            name: (value, *(drawn.randrange(1000, 3000) for _ in range(POINTS))) for name, value in sizes.values.items()
        }
        self.found: dict[str, ast.expr] = {}

    def at(self, node: ast.expr, point: int) -> int | float:
        """The value of an expression at one of the sizes. Raises `NotConverted` where it is not a number."""
        if not is_arithmetic(node):
            raise NotConverted(f"sizes that are more than arithmetic: {ast.unparse(node)[:120]}")
        try:
            # eval is safe here: see `is_arithmetic`.
            value: int | float = eval(ast.unparse(node), dict(FUNCTIONS), {n: v[point] for n, v in self.values.items()})
        except Exception as error:
            raise NotConverted(f"sizes that are not numbers: {ast.unparse(node)[:120]}") from error
        return value

    def number(self, text: str) -> int | float:
        """The value of an expression of the host code at the captured size."""
        return self.at(ast.parse(text, mode="eval").body, 0)

    def add(self, name: str, text: str) -> None:
        """A name for an expression of the host code."""
        self.found[name] = ast.parse(text, mode="eval").body
        self.values[name] = tuple(self.at(self.found[name], point) for point in range(POINTS + 1))


ARITHMETIC = (
    ast.expr_context, ast.Constant, ast.Name, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
    ast.FloorDiv, ast.Mod, ast.Pow, ast.IfExp, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.Call, ast.Attribute,
)  # fmt: skip
"""Nodes of expressions that are evaluated. The text may be that of a candidate, which is not trusted."""


def is_arithmetic(node: ast.expr) -> bool:
    """Whether an expression can be evaluated: with functions of FUNCTIONS, numbers, and powers of floats only."""
    inside = [*ast.walk(node)]
    attributes = {ast.unparse(one) for one in inside if isinstance(one, ast.Attribute)}
    constants = [one.value for one in inside if isinstance(one, ast.Constant)]
    bases = [one.left for one in inside if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow)]
    return (
        all(isinstance(one, ARITHMETIC) for one in inside)
        and attributes <= {"triton.cdiv"}
        and all(isinstance(one, int | float) for one in constants)
        and all(map(_is_float, bases))
    )


def _is_float(node: ast.expr) -> bool:
    """Whether the value of arithmetic is a float, whatever its names are: a power of large whole numbers has no end."""
    match node:
        case ast.Constant(value=float()) | ast.Call(func=ast.Name(id="float")) | ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_float(left) or _is_float(right)
        case ast.UnaryOp(operand=operand):
            return _is_float(operand)
        case _:
            return False


class _Cdiv:
    @staticmethod
    def cdiv(one: int, other: int) -> int:
        return -(-one // other)


FUNCTIONS = {"__builtins__": {}, "max": max, "min": min, "float": float, "triton": _Cdiv}


class Sized:
    """The kernels of a capture, without symbols among their parameters: one for each set of sizes that it is launched
    with."""

    def __init__(self, capture: Capture, sizes: Sizes) -> None:
        self.holes = Holes(sizes)
        self._read = {one.name: read_kernel(one) for one in capture.kernels}
        self._floats = sizes.floats
        self._made: dict[tuple[str, ...], Kernel] = {}

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

    def _with_sizes(self, kernel: Kernel, name: str, given: Mapping[str, str], grid: Sequence[str]) -> Kernel:
        """The kernel whose sizes are no parameters, but names of `holes`. given: the sizes of its launch."""
        own = {one: f"{one}_of_{name}" for one in given}
        for one, text in given.items():
            self.holes.add(own[one], text)
        main = _Sizes(own, self.holes, self._floats).visit(copy.deepcopy(kernel.main))
        main.args.args = [one for one in main.args.args if one.arg not in own]
        if kernel.generated.tiles is not None:
            main = without_remainders(main, self._values)
        return replace(kernel, main=ast.fix_missing_locations(main), name=name, grid=tuple(grid))

    def _values(self, node: ast.expr) -> tuple[int, ...] | None:
        """The values of an expression at all points; None for what is not computed from sizes."""
        if not is_size(node, self.holes.values):
            return None
        return tuple(int(self.holes.at(node, point)) for point in range(POINTS + 1))


class _Sizes(ast.NodeTransformer):
    """Renames the parameters for sizes, and writes what is computed from sizes only as a constant of the compiler."""

    def __init__(self, own: Mapping[str, str], holes: Holes, floats: Mapping[str, str]) -> None:
        self.own, self.holes, self.floats = own, holes, floats

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.own.get(node.id, node.id), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is float and (text := self.floats.get(repr(node.value))) is not None:
            name = f"float_{len(self.holes.values)}"
            self.holes.add(name, text)
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
    return Sizes(values={}, shapes=shapes)


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
