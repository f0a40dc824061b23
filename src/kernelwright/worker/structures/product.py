"""Products in half precision with many rows, which take as long as tensor cores multiply.

From sm_90 on the GPU's copy engine fetches whole tiles by descriptors that the host makes (TMA), so that no thread
computes addresses. A factor whose rows do not begin at multiples of 16 bytes, which descriptors need, is copied first.
Older GPUs read tiles by pointers. One program for each multiprocessor computes tile after tile, and fetches the next
while it stores the last. What is done to each element of the result is computed with its sums.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from kernelwright.devices.first_configs import tile_of_product
from kernelwright.model import Structure
from kernelwright.worker.reference.instance import HALF
from kernelwright.worker.structures.arguments import Arguments
from kernelwright.worker.structures.elementwise import FLOATS
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.fused import B, Fused, M, N, factors, fused, listed
from kernelwright.worker.structures.linear import MOST_ROWS
from kernelwright.worker.structures.masks import hint_of

LEAST_WORK = 1 << 28
"""Multiplications. A product with fewer takes about as long as a launch: an H200 multiplies 2^28 in 0.7 us."""

COPIED = 512
"""Numbers of a row that a program copies, as in gallery/matmul."""

IDEA = """\
A product in half precision whose tiles the GPU's copy engine fetches by descriptors that the host makes. Factors \
whose rows do not begin at multiples of 16 bytes are copied first. One program for each multiprocessor computes tile \
after tile; biases and activations are computed with the sums."""

TEXT = """
@triton.jit
def product_kernel_block(
    x, batch, row, column, rows, columns, x_batch, x_row, x_column,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, FORM: tl.constexpr,
):
    # A block of a factor, which is a pointer (0), a descriptor (1), or a descriptor of the transposed matrix (2).
    if FORM == 1:
        block = x.load([batch, row, column]).reshape(ROWS, COLUMNS)
    elif FORM == 2:
        block = x.load([batch, column, row]).reshape(COLUMNS, ROWS).T
    else:
        row += tl.arange(0, ROWS)
        column += tl.arange(0, COLUMNS)
        place = row.to(tl.int64)[:, None] * x_row + column.to(tl.int64)[None, :] * x_column
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        block = tl.load(x + batch.to(tl.int64) * x_batch + place, mask=inside, other=0.0)
    return block


@triton.jit
def product_kernel_halves(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    # (ROWS, COLUMNS) to its left and its right half
    return tl.split(tl.permute(tl.reshape(tile, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))


@triton.jit
def product_kernel_store(
    {sums}
    out, batch, row, column,
    {pointers}
    {parameters}
    rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr, FORM: tl.constexpr,
):
    b = batch.to(tl.int64)
    m = row.to(tl.int64) + tl.arange(0, ROWS)
    n = column.to(tl.int64) + tl.arange(0, COLUMNS)
    in_m = m < rows
    in_n = n < columns
    {cuts}
    {epilogue}
    if FORM == 1:
        out.store([batch, row, column], tl.reshape(result.to(out.dtype), (1, ROWS, COLUMNS)))
    else:
        place = (b * rows + m[:, None]) * columns + n[None, :]
        tl.store(out + place, result.to(out.dtype.element_ty), mask=in_m[:, None] & in_n[None, :])


@triton.jit
def product_kernel(
    {factors}
    out,
    {pointers}
    {strides}
    {parameters}
    batches, rows, columns, depth,
    {forms}
    OUT_FORM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N)
    for number in tl.range(tl.program_id(0), batches * tiles_m * tiles_n, tl.num_programs(0), flatten=FLATTEN):
        # Tiles run down a band of GROUP_M rows before they move one column to the right; the last band may be lower.
        batch = number // (tiles_m * tiles_n)
        tile = number % (tiles_m * tiles_n)
        band = tile // (GROUP_M * tiles_n)
        height = tl.minimum(tiles_m - band * GROUP_M, GROUP_M)
        within = tile % (GROUP_M * tiles_n)
        m = (band * GROUP_M + within % height) * BLOCK_M
        n = within // height * BLOCK_N
        {zeros}
        for step in range(tl.cdiv(depth, BLOCK_K)):
            k = step * BLOCK_K
            x = product_kernel_block(
                x_given, batch, m, k, rows, depth, x_batch, x_row, x_column, BLOCK_M, BLOCK_K, X_FORM,
            )
            {dots}
        # In two halves, which take half the registers and shared memory.
        {halves}
        product_kernel_store(
            {left}
            out, batch, m, n,
            {pointers}
            {parameters}
            rows, columns, BLOCK_M, BLOCK_N // 2, OUT_FORM,
        )
        product_kernel_store(
            {right}
            out, batch, m, n + BLOCK_N // 2,
            {pointers}
            {parameters}
            rows, columns, BLOCK_M, BLOCK_N // 2, OUT_FORM,
        )


@triton.jit
def product_kernel_of_rows(
    x, even, height, width, x_batch, x_row, x_column, units, UNIT: tl.constexpr, COLUMNS: tl.constexpr,
):
    # A part of a row into one of whole units of 16 bytes; nobody reads what ends the last unit.
    blocks = tl.cdiv(width, COLUMNS)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    first = tl.program_id(0) % blocks * COLUMNS
    column = first + tl.arange(0, COLUMNS)
    x += row // height * x_batch + row % height * x_row
    block = tl.load(x + column.to(tl.int64) * x_column, mask=column < width, other=0.0)
    unit = first // UNIT + tl.arange(0, COLUMNS // UNIT)[:, None]
    place = (row * units + unit) * UNIT + tl.arange(0, UNIT)[None, :]
    tl.store(even + place, tl.reshape(block, (COLUMNS // UNIT, UNIT)), mask=unit < units)


def product_read(x, rows, columns):
    # A factor in blocks of (rows, columns) as the kernel reads it, its strides, and the form that it has there.
    x = x if x.dim() == 3 else x[None]
    if torch.cuda.get_device_properties(x.device).major < 9 or x.numel() == 0:
        return x, x.stride(), 0
    is_turned = x.stride(1) == 1 and x.stride(2) != 1
    lines = x.transpose(1, 2) if is_turned else x
    batches, height, width = lines.shape
    batch, row, column = lines.stride()
    unit = 16 // x.element_size()
    batch = unit if batches == 1 else batch
    if column != 1 or batch % unit or row % unit or batch == 0 or row == 0 or x.data_ptr() % 16:
        units = triton.cdiv(width, unit)
        even = torch.empty((batches, height, units * unit), dtype=x.dtype, device=x.device)
        product_kernel_of_rows[(batches * height * triton.cdiv(width, {copied}),)](
            lines, even, height, width, *lines.stride(), units, UNIT=unit, COLUMNS={copied}, num_warps=2,
        )
        lines, batch, row = even, height * units * unit, units * unit
    block = [1, columns, rows] if is_turned else [1, rows, columns]
    descriptor = TensorDescriptor(lines, [batches, height, width], [batch, row, 1], block)
    return descriptor, x.stride(), 1 + is_turned


def product({arguments}):
    {checked}
    batches, (rows, depth), columns = x.shape[:-2].numel(), x.shape[-2:], {last}
    out = torch.empty(({shape}), dtype={like}, device=x.device)
    # Elements of four bytes take twice the room: half the sides.
    smaller = x.element_size() // 2
    block_m, block_n, block_k = PRODUCT_BLOCK_M // smaller, PRODUCT_BLOCK_N // smaller, PRODUCT_BLOCK_K // smaller
    tiles = batches * triton.cdiv(rows, block_m) * triton.cdiv(columns, block_n)
    programs = tiles
    if PRODUCT_FLATTEN:
        # As many programs as share the tiles evenly.
        programs = torch.cuda.get_device_properties(x.device).multi_processor_count
        programs = triton.cdiv(tiles, max(1, triton.cdiv(tiles, programs)))
    {read}
    to, out_form = out, 0
    if x_form and columns * out.element_size() % 16 == 0:
        sides, block = [batches, rows, columns], [1, block_m, block_n // 2]
        to, out_form = TensorDescriptor(out, sides, [rows * columns, columns, 1], block), 1
    product_kernel[(programs,)](
        {factors}
        to,
        {pointers_given}
        {strides_given}
        {parameters_given}
        batches, rows, columns, depth,
        {forms_given}
        OUT_FORM=out_form, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=PRODUCT_GROUP_M,
        FLATTEN=PRODUCT_FLATTEN, num_warps=PRODUCT_NUM_WARPS, num_stages=PRODUCT_NUM_STAGES,
    )
    return out
"""


def find_product(graph: GraphModule) -> Iterator[Found]:
    """Every product with many rows in a graph."""
    return fused(graph, _is_served, _written)


def _is_served(x: Tensor, w: Tensor) -> bool:
    work = hint_of(x.numel()) * hint_of(w.shape[-1])
    return hint_of(x.shape[-2]) > MOST_ROWS and work >= LEAST_WORK and x.dtype == w.dtype and x.dtype in HALF


def _written(made: Fused) -> Found | None:
    arguments = Arguments(made.graph)
    words, masks = made.words({B: "", M: "[:, None]", N: "[None, :]"})
    result = made.result(arguments, words, masks)
    xs = {factors(node)[0] for node in made.products}
    if result is None or len(xs) != 1 or made.root.meta["val"].dtype not in FLOATS:
        return None
    keys, epilogue = result
    weights = {w: f"w_{number}" for number, w in enumerate({factors(node)[1]: None for node, _ in keys}, 1)}
    given: dict[str, Node] = {"x": xs.pop(), **{name: w for w, name in weights.items()}}
    sums, tf32 = [*keys.values()], torch.backends.cuda.matmul.allow_tf32
    dots = []
    for (node, offset), name in keys.items():
        w, shift = weights[factors(node)[1]], f" + {arguments.size(offset)}" if offset != 0 else ""
        dots += [f"w = product_kernel_block({w}_given, batch, k, n{shift}, depth, columns{shift}, {w}_batch, {w}_row, "
                 f"{w}_column, BLOCK_K, BLOCK_N, {w.upper()}_FORM)",
                 f"{name} = tl.dot(x, w, {name}, allow_tf32={tf32})"]  # fmt: skip
    strides = [[f"{name}_{side}" for side in ("batch", "row", "column")] for name in given]
    lines = {
        "sums": [listed(sums)], "left": [listed(f"{name}_left" for name in sums)],
        "right": [listed(f"{name}_right" for name in sums)], "factors": [listed(f"{name}_given" for name in given)],
        "halves": [f"{name}_left, {name}_right = product_kernel_halves({name}, BLOCK_M, BLOCK_N)" for name in sums],
        "strides": [*map(listed, strides)], "strides_given": [f"*{name}_strides," for name in given],
        "forms": [listed(f"{name.upper()}_FORM: tl.constexpr" for name in given)],
        "forms_given": [listed(f"{name.upper()}_FORM={name}_form" for name in given)],
        "zeros": [f"{name} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)" for name in sums],
        "dots": dots, "epilogue": epilogue,
        "read": [f"{name}_given, {name}_strides, {name}_form = product_read({name}, "
                 f"{'block_m, block_k' if name == 'x' else 'block_k, block_n'})" for name in given],
    }  # fmt: skip
    config = _config(made, len(sums), epilogue, arguments)
    structure = Structure(function="product", source=TEXT, idea=IDEA, config=config, shape=(), like=0)
    return made.as_found(arguments, structure, {"copied": str(COPIED)}, lines, given)


def _config(made: Fused, products: int, epilogue: list[str], arguments: Arguments) -> dict[str, int]:
    gpu: Any = torch.cuda.get_device_properties(0)
    result = made.root.meta["val"]
    *batches, rows, _ = map(hint_of, factors(made.first)[0].meta["val"].shape)
    # A tile that is read changes its layout in shared memory, one after the other.
    tiles = "".join(line for line in epilogue if "[:, None]" in line and "[None, :]" in line)
    read = [arguments.tensors[name].meta["val"].dtype.itemsize for name in re.findall(r"tl\.load\((\w+)_ptr", tiles)]
    found = tile_of_product(
        math.prod(batches), rows, hint_of(result.shape[-1]), products, len(epilogue),
        result.dtype.itemsize + max(read, default=0),
        gpu.multi_processor_count, gpu.shared_memory_per_block_optin, gpu.major,
    )  # fmt: skip
    return {name.upper(): value for name, value in found.items()}
