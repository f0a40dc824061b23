"""Conversion of Inductor's Triton templates (products and convolutions) to the form of other kernels: blocks as
parameters.

A template states its block sizes and is launched with a grid of numbers. The formula of the grid follows from the names
in its text; it is used only where it gives these numbers.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.inductor.faults import NotConverted, UnknownText

TUNED = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M")
"""Numbers of a template that change its speed, not its result."""

LEAST_BLOCK = 16
"""Smallest side of a block of `tl.dot`."""

SIDES = 3
"""Number of grid arguments at the end of a template's launch."""


@dataclass(frozen=True)
class Template:
    """A converted template.

    main: with `blocks` as parameters. rows, columns: names of the sides of the matrix whose tiles the programs compute;
    the rows are a product. numbers: by name.
    """

    main: ast.FunctionDef
    blocks: Mapping[str, int]
    rows: tuple[str, ...]
    columns: str
    numbers: Mapping[str, int]

    @property
    def is_product(self) -> bool:
        """Whether it is a product of matrices, not a convolution."""
        return self.columns == "N"

    @property
    def depth(self) -> int:
        """Number of products in an output."""
        return self.numbers["K" if self.is_product else "DEPTH"]

    @property
    def channels(self) -> int | None:
        """Input channels of a group, of a convolution whose steps each are under one element of the window."""
        return self.numbers.get("GROUP_IN_C")

    @property
    def all_columns(self) -> int:
        """The smallest block that has all columns."""
        return max(LEAST_BLOCK, 1 << (self.numbers[self.columns] - 1).bit_length())

    def grid(self, launched: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
        """Grid expressions with the template's block names. Raises `NotConverted` where their values differ from the
        launch."""
        given = [one.value if isinstance(one, ast.Constant) else None for one in launched]
        rows = [self.numbers[name] for name in self.rows]
        tiles = -(-math.prod(rows) // self.blocks["BLOCK_M"]) * -(-self.numbers[self.columns] // self.blocks["BLOCK_N"])
        if given[0] != tiles:
            raise NotConverted(f"{self.main.name} has the grid {given}, not {[tiles, *given[1:]]}")
        along = [f"triton.cdiv({' * '.join(map(str, rows))}, BLOCK_M)",
                 f"triton.cdiv({self.numbers[self.columns]}, BLOCK_N)"]  # fmt: skip
        others = given[1 : 3 if given[2] != 1 else 2 if given[1] != 1 else 1]
        texts = [" * ".join(along), *map(str, others)]
        return tuple(ast.parse(text, mode="eval").body for text in texts)


def read_template(main: ast.FunctionDef) -> Template:
    """Raises `NotConverted` for a template that is neither a product nor a convolution."""
    stated = [one for one in main.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    constants = {ast.unparse(one.target): one.value for one in stated if one.value is not None}
    blocks = {name: node.value for name, node in constants.items()
              if name in TUNED and isinstance(node, ast.Constant) and isinstance(node.value, int)}  # fmt: skip
    numbers = {one.targets[0].id: number for one in main.body
               if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
               and (number := _number(one.value)) is not None}  # fmt: skip
    is_product = {"M", "N", "K"} <= numbers.keys() and "GROUP_M" in blocks
    rows: tuple[str, ...] = ("M",)
    if not is_product:
        rows = tuple(name for name in ("BATCH", "ROWS_D", "ROWS_H", "ROWS_W") if name in numbers)
    if not is_product and (len(rows) < 2 or "GROUP_OUT_C" not in numbers):
        raise UnknownText(f"{main.name} is a template that is not known here")
    if not {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= blocks.keys():
        raise NotConverted(f"{main.name} has no blocks of rows, columns and depth")
    plain = _Plain({name: node for name, node in constants.items() if name not in blocks}).visit(main)
    plain.body = [one for one in plain.body if not _is_left_out(one)]
    plain.args.args += [ast.arg(name, ast.parse("tl.constexpr", mode="eval").body) for name in blocks]
    _without_remainders(plain)
    columns = "N" if is_product else "GROUP_OUT_C"
    return Template(ast.fix_missing_locations(plain), blocks, rows, columns, numbers)


def _without_remainders(main: ast.FunctionDef) -> None:
    """Writes `xindex % stride` as the sum of those terms of xindex that have smaller strides: dividing every element of
    a tile cost 4 % of a convolution with one activation (H100). An output is contiguous, so that sum is less than the
    stride."""
    terms: list[tuple[int, ast.expr]] = []
    for statement in main.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="xindex")], value=value):
                terms = list(_terms(value))
            case ast.Assign(value=ast.BinOp(left=ast.Name(id="xindex"), op=ast.Mod(), right=right)):
                stride = _number(right) or 0
                inner = [node for step, node in terms if step < stride]
                if stride in (step for step, _ in terms) and inner:
                    text = f"tl.broadcast_to({' + '.join(map(ast.unparse, inner))}, [BLOCK_M, BLOCK_N])"
                    statement.value = ast.parse(text, mode="eval").body
            case _:
                pass


def _terms(node: ast.expr) -> Iterator[tuple[int, ast.expr]]:
    """The terms of a sum, by their constant factors."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.BinOp(left=ast.Constant(value=int(factor)), op=ast.Mult()):
            yield factor, node
        case _:
            yield 1, node


def _number(node: ast.expr) -> int | None:
    """The value of an integer, or of one that has a dtype: `tl.full([], 16, dtype=tl.int64)`."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Call(func=ast.Attribute(attr="full"), args=[ast.List(elts=[]), ast.Constant(value=int(number))]):
            return number
        case _:
            return None


def _is_left_out(statement: ast.stmt) -> bool:
    """Whether it states a constant that is now a parameter or inlined, or returns early."""
    match statement:
        case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
            return True
        case ast.If(body=[ast.Return(value=None)], orelse=[]):
            return True
        case _:
            return False


class _Plain(ast.NodeTransformer):
    """Inlines constants, and renames `arg_A` to `A_ptr`."""

    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.constants and isinstance(node.ctx, ast.Load):
            return self.constants[node.id]
        return ast.Name(_pointer(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(_pointer(node.arg), node.annotation)


def _pointer(name: str) -> str:
    return f"{name.removeprefix('arg_')}_ptr" if name.startswith("arg_") else name
