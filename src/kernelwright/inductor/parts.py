"""Float32 products of parts: the second factor of a template is split before its kernel begins.

A part has the digits that tensor cores multiply (TF32). With `input_precision="tf32x3"`, Triton splits the tiles of
both factors in every step, and writes those of the second one back to shared memory. Here a kernel splits the second
factor once: the high parts of all its numbers, then the low parts. On an H200 (torch 2.11, Triton 3.6) the product of
two matrices of 4,096 x 4,096 took 1,518 µs, with "tf32x3" 1,713, both with a copy of the second factor; a convolution
of 256 x 3 x 224 x 224 with 96 windows of 11 x 11 took 2,015 µs in place of 3,278. The largest error of the product is a
sixth of cuBLAS's.

Each step adds up in registers of its own. Tensor cores round what they add less carefully: with one sum for all steps
the largest error was eleven times cuBLAS's.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter

from kernelwright.inductor.arithmetic import names_in
from kernelwright.inductor.faults import NotConverted

WIDTH = 1024
"""Numbers that a program splits."""

TEXTS = (
    """@triton.jit
def high_and_low(x):
    # Both have 11 bits, so that tensor cores multiply them exactly; of infinity there is no low part.
    high = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    low = ((x - high).to(tl.int32, bitcast=True) + 4096) & -8192
    is_finite = tl.abs(x) < float("inf")
    return tl.where(is_finite, high, x), tl.where(is_finite, low.to(tl.float32, bitcast=True), 0.0)""",
    """# Splits a factor for tensor cores: all high parts, then all low parts.
@triton.jit
def split_factor(x_ptr, parts_ptr, numel, WIDTH: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    mask = index < numel
    high, low = high_and_low(tl.load(x_ptr + index, mask=mask))
    tl.store(parts_ptr + index, high, mask=mask)
    tl.store(parts_ptr + numel + index, low, mask=mask)""",
)
"""The functions that such a candidate has beside its kernels."""

ELEMENTS = "second_factor_elements"
"""Stands in a kernel for the number of elements of the second factor."""

STEP = """
a_high, a_low = high_and_low(a)
part = tl.dot(a_low, b, input_precision='tf32')
part = tl.dot(a_high, b_low, part, input_precision='tf32')
part = tl.where(part == part, part, 0.0)
acc += tl.dot(a_high, b, part, input_precision='tf32')
"""
"""A step of the product. Zero times infinity is NaN among the low parts, and must not count."""


def host_lines(factor: str, parts: str, elements: str, device: str) -> list[str]:
    """Host code that splits the tensor `factor`, whose elements are adjacent in memory, into a tensor `parts`."""
    return [
        f"{parts} = torch.empty((2, {elements}), dtype=torch.float32, device={device})",
        f"split_factor[(triton.cdiv({elements}, {WIDTH}),)]({factor}, {parts}, {elements}, WIDTH={WIDTH})",
    ]


def with_parts(main: ast.FunctionDef) -> tuple[ast.FunctionDef, int]:
    """A copy of a template's kernel that multiplies parts, and the place of the second factor among its arguments.
    Raises `NotConverted` where it does not load the second factor as it is, or reads it for something else, too."""
    made = copy.deepcopy(main)
    names = {one.value.id: one.targets[0].id for one in made.body if isinstance(one, ast.Assign)
             and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Name)}  # fmt: skip
    steps, addressed = 0, set[str]()
    for loop in [one for one in ast.walk(made) if isinstance(one, ast.For)]:
        body: list[ast.stmt] = []
        for one in loop.body:
            body.append(one)
            match one:
                case ast.Assign(
                    targets=[ast.Name(id="b")],
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="load"), args=[address, *_]),
                ):
                    addressed |= names_in(address)
                    body.append(_low(one))
                case ast.AugAssign(
                    target=ast.Name(id="acc"),
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id="tl"), attr="dot"),
                        args=[ast.Name(id="a"), ast.Name(id="b")],
                        keywords=[ast.keyword(arg="allow_tf32", value=ast.Constant(value=False)), *_],
                    ),
                ):
                    steps += 1
                    body[-1:] = ast.parse(STEP).body
                case _:
                    pass
        loop.body = body
    read = Counter(one.id for one in ast.walk(main) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    factors = [place for place, one in enumerate(made.args.args) if names.get(one.arg) in addressed]
    if steps != 1 or len(factors) != 1 or read[made.args.args[factors[0]].arg] != 1:
        raise NotConverted(f"{main.name} has no product in full precision of a factor that it only multiplies")
    return ast.fix_missing_locations(made), factors[0]


def _low(load: ast.Assign) -> ast.Assign:
    """The load of the low part, from the load of a tile of the second factor."""
    low = copy.deepcopy(load)
    low.targets = [ast.Name("b_low", ast.Store())]
    assert isinstance(low.value, ast.Call)
    innermost = low.value.args[0]
    while isinstance(innermost, ast.BinOp) and isinstance(innermost.left, ast.BinOp):
        innermost = innermost.left
    match innermost:
        case ast.BinOp(left=ast.Name() as pointer, op=ast.Add()):
            # Added to the pointer, which has 64 bits, and not to the offsets.
            innermost.left = ast.BinOp(pointer, ast.Add(), ast.Name(ELEMENTS, ast.Load()))
            return low
        case _:
            text = ast.unparse(low.value.args[0])[:120]
            raise NotConverted(f"an address that does not begin with a tensor: {text}")
