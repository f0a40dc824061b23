"""Conversion of Inductor's Triton templates (products and convolutions) to the form of other kernels: blocks as
parameters.

A template states its block sizes and is launched with a grid of numbers. The formula of the grid follows from the names
in its text; it is used only where it gives these numbers.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.inductor.faults import NotConverted

TUNED = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M")
"""Numbers of a template that change its speed, not its result."""

SIDES = 3
"""Number of grid arguments at the end of a template's launch."""


@dataclass(frozen=True)
class Template:
    """A converted template.

    main: with `blocks` as parameters. rows, columns: names of the sides of the matrix whose tiles the programs compute;
    the rows are a product. in_one_side: whether the grid's first side has all tiles. numbers: by name.
    """

    main: ast.FunctionDef
    blocks: Mapping[str, int]
    rows: tuple[str, ...]
    columns: str
    in_one_side: bool
    numbers: Mapping[str, int]

    def grid(self, launched: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
        """Grid expressions with the template's block names. Raises `NotConverted` where their values differ from the
        launch."""
        given = [one.value if isinstance(one, ast.Constant) else None for one in launched]
        rows = [self.numbers[name] for name in self.rows]
        along = [-(-math.prod(rows) // self.blocks["BLOCK_M"]),
                 -(-self.numbers[self.columns] // self.blocks["BLOCK_N"])]  # fmt: skip
        sides = [along[0] * along[1], given[1]] if self.in_one_side else along
        if given != [*sides, 1]:
            raise NotConverted(f"{self.main.name} has the grid {given}, not {[*sides, 1]}")
        tiles = [f"triton.cdiv({' * '.join(map(str, rows))}, BLOCK_M)",
                 f"triton.cdiv({self.numbers[self.columns]}, BLOCK_N)"]  # fmt: skip
        texts = [" * ".join(tiles), *([str(given[1])] if given[1] != 1 else [])] if self.in_one_side else tiles
        return tuple(ast.parse(text, mode="eval").body for text in texts)


def read_template(main: ast.FunctionDef) -> Template:
    """Raises `NotConverted` for a template that is neither a product nor a convolution of one group."""
    stated = [one for one in main.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    constants = {ast.unparse(one.target): one.value for one in stated if one.value is not None}
    blocks = {name: node.value for name, node in constants.items()
              if name in TUNED and isinstance(node, ast.Constant) and isinstance(node.value, int)}  # fmt: skip
    numbers = {one.targets[0].id: one.value.value for one in main.body
               if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
               and isinstance(one.value, ast.Constant) and type(one.value.value) is int}  # fmt: skip
    is_product = {"M", "N", "K"} <= numbers.keys() and "GROUP_M" in blocks
    rows: tuple[str, ...] = ("M",)
    if not is_product:
        rows = tuple(name for name in ("BATCH", "OUT_D", "OUT_H", "OUT_W") if name in numbers)
    if not is_product and (len(rows) < 3 or "OUT_C" not in numbers):
        raise NotConverted(f"{main.name} is a template that is not known here")
    if not {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= blocks.keys():
        raise NotConverted(f"{main.name} has no blocks of rows, columns and depth")
    plain = _Plain({name: node for name, node in constants.items() if name not in blocks}).visit(main)
    plain.body = [one for one in plain.body if not _is_left_out(one)]
    plain.args.args += [ast.arg(name, ast.parse("tl.constexpr", mode="eval").body) for name in blocks]
    columns = "N" if is_product else "OUT_C"
    return Template(ast.fix_missing_locations(plain), blocks, rows, columns, is_product, numbers)


def _is_left_out(statement: ast.stmt) -> bool:
    """Whether it states a constant that is now a parameter or inlined, or returns early."""
    match statement:
        case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
            return True
        case ast.If(body=[ast.Return(value=None)], orelse=[]):
            return True
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
