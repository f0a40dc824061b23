"""Conversion of Inductor's Triton templates (products and convolutions) to the form of other kernels: blocks as
parameters.

A template states its block sizes and is launched with a grid of numbers. The formula of the grid follows from the names
in its text; it is used only where it gives these numbers.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.inductor.arithmetic import factors_of, is_size, named, terms_of
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
    the rows are a product. sizes: expressions by name. numbers: their values at the captured size, see `with_values`.
    """

    main: ast.FunctionDef
    blocks: Mapping[str, int]
    rows: tuple[str, ...]
    columns: str
    sizes: Mapping[str, ast.expr]
    numbers: Mapping[str, int] = field(default_factory=dict)

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

    def grid(self, launched: Sequence[ast.expr], values: Sequence[int]) -> tuple[ast.expr, ...]:
        """Grid expressions with the template's block names. Raises `NotConverted` where their values differ from the
        launch's. values: of `launched` at the captured size."""
        rows = [self.numbers[name] for name in self.rows]
        tiles = -(-math.prod(rows) // self.blocks["BLOCK_M"]) * -(-self.numbers[self.columns] // self.blocks["BLOCK_N"])
        if values[0] != tiles:
            raise NotConverted(f"{self.main.name} has the grid {[*values]}, not {[tiles, *values[1:]]}")
        texts = {name: ast.unparse(self.sizes[name]) for name in (*self.rows, self.columns)}
        along = (f"triton.cdiv({' * '.join(f'({texts[name]})' for name in self.rows)}, BLOCK_M)"
                 f" * triton.cdiv({texts[self.columns]}, BLOCK_N)")  # fmt: skip
        is_one = [isinstance(one, ast.Constant) and one.value == 1 for one in launched]
        others = launched[1 : 3 if not is_one[2] else 2 if not is_one[1] else 1]
        return ast.parse(along, mode="eval").body, *others


def read_template(main: ast.FunctionDef) -> Template:
    """Raises `NotConverted` for a template that is neither a product nor a convolution."""
    stated = [one for one in main.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    constants = {ast.unparse(one.target): one.value for one in stated if one.value is not None}
    blocks = {name: node.value for name, node in constants.items()
              if name in TUNED and isinstance(node, ast.Constant) and isinstance(node.value, int)}  # fmt: skip
    sizes = _sizes(main)
    is_product = {"M", "N", "K"} <= sizes.keys() and "GROUP_M" in blocks
    rows: tuple[str, ...] = ("M",)
    if not is_product:
        rows = tuple(name for name in ("BATCH", "ROWS_D", "ROWS_H", "ROWS_W") if name in sizes)
    if not is_product and (len(rows) < 2 or "GROUP_OUT_C" not in sizes):
        raise UnknownText(f"{main.name} is a template that is not known here")
    if not {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= blocks.keys():
        raise NotConverted(f"{main.name} has no blocks of rows, columns and depth")
    plain = _Plain({name: node for name, node in constants.items() if name not in blocks}).visit(main)
    plain.body = [one for one in plain.body if not _is_left_out(one)]
    plain.args.args += [ast.arg(name, ast.parse("tl.constexpr", mode="eval").body) for name in blocks]
    columns = "N" if is_product else "GROUP_OUT_C"
    return Template(ast.fix_missing_locations(plain), blocks, rows, columns, sizes)


def _sizes(main: ast.FunctionDef) -> dict[str, ast.expr]:
    """What the kernel's first names for sizes are, as expressions of its parameters and of numbers."""
    runtime = [one.arg for one in main.args.args if one.annotation is None]
    known: dict[str, ast.expr] = {
        name: ast.Name(name, ast.Load()) for name in runtime if not name.startswith(("arg_", "in_ptr", "out_ptr"))
    }
    found: dict[str, ast.expr] = {}
    for one in main.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                value = _plain_size(value)
                if is_size(value, {**known, **found}):
                    found[name] = named(
                        copy.deepcopy(value), {key: f"({ast.unparse(text)})" for key, text in found.items()}
                    )
            case _:
                pass
    return found


Values = Callable[[ast.expr], tuple[int, ...] | None]
"""The values of an expression at several sizes, the captured one first; None for what is not computed from sizes."""


def with_values(template: Template, values: Values) -> Template:
    """The template with the values of its sizes, and without remainders in offsets."""
    numbers = {name: found[0] for name, one in template.sizes.items() if (found := values(one)) is not None}
    main = copy.deepcopy(template.main)
    _without_remainders(main, values)
    return replace(template, main=ast.fix_missing_locations(main), numbers=numbers)


def _without_remainders(main: ast.FunctionDef, values: Values) -> None:
    """Writes `xindex % stride` as the sum of those terms of xindex that have smaller strides: dividing every element of
    a tile cost 4 % of a convolution with one activation (H100). An output is contiguous, so that sum is less than the
    stride."""
    terms: list[tuple[tuple[int, ...], ast.expr]] = []
    for statement in main.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="xindex")], value=value):
                terms = [(_step(one, values), one) for one in terms_of(value)]
            case ast.Assign(value=ast.BinOp(left=ast.Name(id="xindex"), op=ast.Mod(), right=right)) if (
                stride := values(right)
            ) is not None:
                inner = [
                    node for step, node in terms if all(one < most for one, most in zip(step, stride, strict=True))
                ]
                if stride in (step for step, _ in terms) and inner:
                    text = f"tl.broadcast_to({' + '.join(map(ast.unparse, inner))}, [BLOCK_M, BLOCK_N])"
                    statement.value = ast.parse(text, mode="eval").body
            case _:
                pass


def _step(term: ast.expr, values: Values) -> tuple[int, ...]:
    """The product of a term's factors that are sizes, at several sizes."""
    found = [value for one in factors_of(term) if (value := values(one)) is not None]
    one = values(ast.Constant(1))
    assert one is not None
    return tuple(map(math.prod, zip(one, *found, strict=True)))


def _plain_size(node: ast.expr) -> ast.expr:
    """A size without its dtype: `tl.full([], 16, dtype=tl.int64)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="full"), args=[ast.List(elts=[]), size]):
            return size
        case _:
            return node


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
