"""Conversion of Inductor's Triton templates (products and convolutions) to the form of other kernels: blocks as
parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from kernelwright.inductor.arithmetic import factors_of, joined, parsed, terms_of
from kernelwright.inductor.faults import NotConverted

TUNED = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M")
"""Numbers of a template that change its speed, not its result."""


def read_template(main: ast.FunctionDef) -> tuple[ast.FunctionDef, dict[str, int]]:
    """The kernel with its blocks as parameters, and their numbers. Raises `NotConverted` for one without blocks."""
    stated = [one for one in main.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    constants = {ast.unparse(one.target): one.value for one in stated if one.value is not None}
    blocks = {name: node.value for name, node in constants.items()
              if name in TUNED and isinstance(node, ast.Constant) and isinstance(node.value, int)}  # fmt: skip
    if not {"BLOCK_M", "BLOCK_N", "BLOCK_K"} <= blocks.keys():
        raise NotConverted(f"{main.name} has no blocks of rows, columns and depth")
    plain = _Plain({name: node for name, node in constants.items() if name not in blocks}).visit(main)
    plain.body = [one for one in plain.body if one not in stated and not _is_early_return(one)]
    plain.args.args += [ast.arg(name, parsed("tl.constexpr")) for name in blocks]
    for loop in [one for one in ast.walk(plain) if isinstance(one, ast.For)]:
        _fill_loads(loop)
    return ast.fix_missing_locations(plain), blocks


def _fill_loads(loop: ast.For) -> None:
    """Give masked loads zeros for what they leave out: those of an operator that computes a factor have none, and zeros
    of the other factor times whatever is in registers may be NaN."""
    for call in ast.walk(loop):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="load"), args=[_, _], keywords=named):
                if all(one.arg != "other" for one in named):
                    named.insert(0, ast.keyword("other", ast.Constant(0.0)))
            case _:
                pass


Values = Callable[[ast.expr], tuple[int, ...] | None]
"""The values of an expression at several sizes, the captured one first; None for what is not computed from sizes."""


def without_remainders(main: ast.FunctionDef, values: Values) -> ast.FunctionDef:
    """The kernel, changed in place, with `xindex % stride` as the sum of those terms of xindex that have smaller
    strides: dividing every element of a tile cost 4 % of a convolution with one activation (H100). An output is
    contiguous, so that sum is less than the stride."""
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
                    statement.value = parsed(text)
            case _:
                pass
    return ast.fix_missing_locations(main)


def _step(term: ast.expr, values: Values) -> tuple[int, ...]:
    """The product of a term's factors that are sizes, at several sizes."""
    found = values(joined([ast.Constant(1), *(one for one in factors_of(term) if values(one) is not None)], ast.Mult))
    assert found is not None
    return found


def _is_early_return(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Return)


class _Plain(ast.NodeTransformer):
    """Inlines constants, renames `arg_A` to `A_ptr`, and gives a number that is fused two sides, as tiles have."""

    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.constants and isinstance(node.ctx, ast.Load):
            return self.constants[node.id]
        return ast.Name(_pointer(node.id), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="full"), args=[ast.List(elts=[ast.Constant(value=1) as one]), *rest]):
                node.args = [ast.List([one, one], ast.Load()), *rest]
            case _:
                pass
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(_pointer(node.arg), node.annotation)


def _pointer(name: str) -> str:
    return f"{name.removeprefix('arg_')}_ptr" if name.startswith("arg_") else name
