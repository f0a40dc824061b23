"""The kernels of products with few rows: one that adds up a part of the sum, and one that adds the parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch import Tensor

from kernelwright.model import Structure
from kernelwright.worker.structures.arguments import Arguments
from kernelwright.worker.structures.found import Found, filled
from kernelwright.worker.structures.fused import Fused, M, N
from kernelwright.worker.structures.masks import hint_of

IDEA = """\
A product with few rows reads its weights as they are stored, and computes what they stand for in registers. The sum \
is divided among programs; biases, activations and gates are computed with its result."""

TEXT = """
@triton.jit
def linear_kernel(
    {pointers}
    out_ptr, parts_ptr,
    {parameters}
    rows, columns, SPLITS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    num_stages: tl.constexpr,
):
    # A block of columns, and a part of the sum. Weights are tiles of (columns, places in the sum).
    n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(2) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_n = n < columns
    in_m = m < rows
    {cuts}
    {zeros}
    blocks = {outer} * tl.cdiv({inner}, BLOCK_K)
    length = tl.cdiv(blocks, SPLITS)
    first = tl.program_id(1) * length
    for block in tl.range(first, tl.minimum(first + length, blocks), num_stages=num_stages):
        outer = block // tl.cdiv({inner}, BLOCK_K)
        inner = block % tl.cdiv({inner}, BLOCK_K) * BLOCK_K + tl.arange(0, BLOCK_K)
        in_inner = inner < {inner}
        {body}
    {sums}
    {once}
    if SPLITS == 1:
        {epilogue}
        place = m[None, :] * columns + n[:, None]
        tl.store(out_ptr + place, result.to(out_ptr.dtype.element_ty), mask=in_n[:, None] & in_m[None, :])
    else:
        place = (tl.program_id(1) * {count} * rows + m[None, :]) * columns + n[:, None]
        {kept}


@triton.jit
def linear_kernel_of_parts(
    {pointers}
    out_ptr, parts_ptr,
    {parameters}
    rows, columns, SPLITS: tl.constexpr, BLOCK_N: tl.constexpr,
):
    n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) + tl.arange(0, 1)
    in_n = n < columns
    in_m = m < rows
    {cuts}
    {zeros_of_parts}
    for split in range(SPLITS):
        place = (split * {count} * rows + m[None, :]) * columns + n[:, None]
        {added}
    {epilogue}
    place = m[None, :] * columns + n[:, None]
    tl.store(out_ptr + place, result.to(out_ptr.dtype.element_ty), mask=in_n[:, None] & in_m[None, :])


def linear({arguments}):
    {checked}
    columns = {last}
    out = torch.empty(({shape}), dtype={like}, device={one}.device)
    rows = out.numel() // columns
    block_m = {block_m}
    parts = out
    if LINEAR_SPLITS > 1:
        parts = torch.empty((LINEAR_SPLITS, {count}, rows, columns), dtype=torch.float32, device={one}.device)
    linear_kernel[(triton.cdiv(columns, LINEAR_BLOCK_N), LINEAR_SPLITS, triton.cdiv(rows, block_m))](
        {pointers_given}
        out, parts,
        {parameters_given}
        rows, columns, SPLITS=LINEAR_SPLITS, BLOCK_M=block_m, BLOCK_N=LINEAR_BLOCK_N, BLOCK_K=LINEAR_BLOCK_K,
        num_warps=LINEAR_NUM_WARPS, num_stages=LINEAR_NUM_STAGES,
    )
    if LINEAR_SPLITS > 1:
        linear_kernel_of_parts[(triton.cdiv(columns, 256), rows)](
            {pointers_given}
            out, parts,
            {parameters_given}
            rows, columns, SPLITS=LINEAR_SPLITS, BLOCK_N=256,
        )
    return out
"""

PROGRAMS = 528
"""Wanted, four for each multiprocessor of an H100 or H200."""

TILE = 4096
"""Elements of a tile of weights whose sums are in registers, at most 32 for each of 128 threads."""

MOST_WIDE, MOST_DEEP = 512, 128
"""Places in the sum that a tile has at most, without and with `tl.dot`, there in half precision."""

MOST_COLUMNS, MOST_SPLITS = 64, 16

MOST_ROWS = 64
"""In a block."""


class Parts:
    """What is in the holes of the text. loops: the variables that the sum is cut into, with their sizes: the block that
    a program is at, if there are two, and the place in it."""

    def __init__(self, made: Fused, arguments: Arguments, loops: Any) -> None:
        self.made, self.arguments, self.loops = made, arguments, loops
        self.is_vector = math.prod(size for _, size in made.cuts[M]) == 1
        self.body: list[str] = []
        self.once: list[str] = []
        self.names: list[str] = []
        self.epilogue: list[str] = []

    def words(self, m: str, n: str, inner: str) -> tuple[dict[Any, str], dict[Any, str]]:
        """Text and masks of the variables in a tile. m, n, inner: how each becomes one."""
        words, masks = self.made.words({M: m, N: n})
        words |= {one: "outer" for one, _ in self.loops[:-1]} | {self.loops[-1][0]: f"inner{inner}"}
        return words, masks | {self.loops[-1][0]: f"in_inner{inner}"}

    def begin(self, lines: Sequence[str], x: str) -> None:
        """Read x."""
        self.body += [*lines, f"x = {x}"]

    def add(self, name: str, lines: Sequence[str], w: str, factor: str) -> None:
        """Add a product to the sums of this name."""
        self.names += [] if name in self.names else [name]
        self.body += lines
        if self.is_vector:
            self.body.append(f"{name} += {w} * x{factor}")
        elif factor:
            self.body.append(f"{name} += tl.dot({w}.to({{dtype}}), x.to({{dtype}}), allow_tf32={{tf32}}){factor}")
        else:
            self.body.append(f"{name} = tl.dot({w}.to({{dtype}}), x.to({{dtype}}), {name}, allow_tf32={{tf32}})")


def written_as(parts: Parts, x: Tensor, w: Tensor) -> Found:
    """The kernels. x, w: the factors."""
    arguments, names = parts.arguments, parts.names
    outer, inner = (
        arguments.size(size) for size in (sympy.prod([size for _, size in parts.loops[:-1]]), parts.loops[-1][1])
    )
    words = {
        "dtype": f"tl.{str(x.dtype).removeprefix('torch.')}", "tf32": str(torch.backends.cuda.matmul.allow_tf32),
        "outer": outer, "inner": inner, "count": str(len(names)),
        "block_m": "1" if parts.is_vector else f"min({MOST_ROWS}, max(16, triton.next_power_of_2(rows)))",
    }  # fmt: skip
    width = "BLOCK_K" if parts.is_vector else "BLOCK_M"
    inside = "mask=in_n[:, None] & in_m[None, :]"
    at = {name: f"parts_ptr + place + {number} * rows * columns" for number, name in enumerate(names)}
    lines = {
        "zeros": [f"{name} = tl.zeros((BLOCK_N, {width}), tl.float32)" for name in names],
        "zeros_of_parts": [f"{name} = tl.zeros((BLOCK_N, 1), tl.float32)" for name in names],
        "body": [filled(line, {}, words) for line in parts.body],
        "sums": [f"{name} = tl.sum({name}, 1)[:, None]" for name in names if parts.is_vector],
        "once": parts.once, "epilogue": parts.epilogue,
        "kept": [f"tl.store({place}, {name}, {inside})" for name, place in at.items()],
        "added": [f"{name} += tl.load({place}, {inside}, other=0.0)" for name, place in at.items()],
    }  # fmt: skip
    structure = Structure(function="linear", source=TEXT, idea=IDEA, config=_config(parts, w), shape=(), like=0)
    return parts.made.as_found(arguments, structure, words, lines, {})


def _config(parts: Parts, w: Tensor) -> dict[str, int]:
    """A first config: tiles of a few thousand elements, and enough programs that memory is always read."""
    sizes = [parts.arguments.hint(size) for _, size in parts.loops]
    wide = MOST_WIDE if parts.is_vector else MOST_DEEP // (w.dtype.itemsize // 2)
    block_k = min(wide, max(16, 1 << (sizes[-1] - 1).bit_length()))
    block_n = min(TILE // block_k, MOST_COLUMNS) if parts.is_vector else 64
    blocks, programs = math.prod(sizes[:-1]) * -(-sizes[-1] // block_k), -(-hint_of(w.shape[1]) // block_n)
    splits = 1 << max(0, min(PROGRAMS // programs, blocks // 2, MOST_SPLITS).bit_length() - 1)
    return {"BLOCK_N": block_n, "BLOCK_K": block_k, "SPLITS": splits, "NUM_WARPS": 4, "NUM_STAGES": 3}
