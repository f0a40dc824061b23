"""Products in half precision with many rows, which take as long as tensor cores multiply.

Where rows begin at multiples of 16 bytes, the GPU's copy engine fetches whole tiles by descriptors that the host makes
(TMA, from sm_90 on), so that no thread computes addresses; elsewhere tiles are read by pointers. One program for each
multiprocessor computes tile after tile, and fetches the next while it stores the last. What is done to each element of
the result is computed with its sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from kernelwright.devices.first_configs import tile_of_product
from kernelwright.model import Structure
from kernelwright.worker.structures.arguments import Arguments
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.fused import B, Fused, M, N, factors, fused, listed
from kernelwright.worker.structures.linear import MOST_ROWS
from kernelwright.worker.structures.masks import hint_of
from kernelwright.worker.structures.values import FLOATS

HALF = (torch.float16, torch.bfloat16)

LEAST_WORK = 1 << 28
"""Multiplications. A product with fewer takes about as long as a launch: an H200 multiplies 2^28 in 0.7 us."""

IDEA = """\
A product in half precision whose tiles the GPU's copy engine fetches by descriptors that the host makes, where rows \
begin at multiples of 16 bytes. One program for each multiprocessor computes tile after tile; biases and activations are \
computed with the sums."""

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
            x = product_kernel_block(x_given, batch, m, k, rows, depth, x_batch, x_row, x_column, BLOCK_M, BLOCK_K, X_FORM)
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


def product_read(x, rows, columns):
    # A factor in blocks of (rows, columns) as the kernel reads it, its strides, and the form that it has there.
    *batches, row, column = x.stride()
    unit, along = 16 // x.element_size(), max(row, column)
    batch = batches[0] if batches else 0
    is_even = min(row, column) == 1 and along % unit == 0 and batch % unit == 0 and x.data_ptr() % 16 == 0
    if not is_even or (batches and batch == 0) or x.numel() == 0 or torch.cuda.get_device_capability(x.device)[0] < 9:
        return x, (batch, row, column), 0
    *_, height, width = x.shape
    sides, block = ([height, width], [rows, columns]) if column == 1 else ([width, height], [columns, rows])
    batched = [x.shape[0], batch] if batches else [1, along]
    descriptor = TensorDescriptor(x, [batched[0], *sides], [batched[1], along, 1], [1, *block])
    return descriptor, (batch, row, column), 1 if column == 1 else 2


def product({arguments}):
    {checked}
    batches, (rows, depth), columns = x.shape[:-2].numel(), x.shape[-2:], {last}
    out = torch.empty(({shape}), dtype={like}, device=x.device)
    tiles = batches * triton.cdiv(rows, PRODUCT_BLOCK_M) * triton.cdiv(columns, PRODUCT_BLOCK_N)
    programs = tiles
    if PRODUCT_FLATTEN:
        # As many programs as share the tiles evenly.
        programs = torch.cuda.get_device_properties(x.device).multi_processor_count
        programs = triton.cdiv(tiles, max(1, triton.cdiv(tiles, programs)))
    {read}
    to, _, out_form = product_read(out.view(batches, rows, columns), PRODUCT_BLOCK_M, PRODUCT_BLOCK_N // 2)
    product_kernel[(programs,)](
        {factors}
        to,
        {pointers_given}
        {strides_given}
        {parameters_given}
        batches, rows, columns, depth,
        {forms_given}
        OUT_FORM=out_form, BLOCK_M=PRODUCT_BLOCK_M, BLOCK_N=PRODUCT_BLOCK_N, BLOCK_K=PRODUCT_BLOCK_K,
        GROUP_M=PRODUCT_GROUP_M, FLATTEN=PRODUCT_FLATTEN, num_warps=PRODUCT_NUM_WARPS, num_stages=PRODUCT_NUM_STAGES,
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
    given: dict[str, Node] = {"x": xs.pop()}
    for node, _ in keys:
        w = factors(node)[1]
        given |= {} if w in given.values() else {f"w_{len(given)}": w}
    names = {w: name for name, w in given.items()}
    sums = [*keys.values()]
    dots = []
    for (node, offset), name in keys.items():
        w, shift = names[factors(node)[1]], f" + {arguments.size(offset)}" if offset != 0 else ""
        dots += [f"w = product_kernel_block({w}_given, batch, k, n{shift}, depth, columns{shift}, {w}_batch, {w}_row, "
                 f"{w}_column, BLOCK_K, BLOCK_N, {w.upper()}_FORM)", f"{name} = tl.dot(x, w, {name})"]  # fmt: skip
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
        "read": [f"{name}_given, {name}_strides, {name}_form = product_read({name}, PRODUCT_BLOCK_{sides[0]}, "
                 f"PRODUCT_BLOCK_{sides[1]})" for name in given for sides in ("MK" if name == "x" else "KN",)],
    }  # fmt: skip
    structure = Structure(
        function="product", source=TEXT, idea=IDEA, config=_config(made, arguments, len(sums)), shape=(), like=0
    )
    return made.as_found(arguments, structure, {}, lines, given)


def _config(made: Fused, arguments: Arguments, products: int) -> dict[str, int]:
    gpu = torch.cuda.get_device_properties(0)
    x, _ = factors(made.first)
    columns = hint_of(made.root.meta["val"].shape[-1])
    batches = hint_of(x.meta["val"].shape[0]) if x.meta["val"].dim() == 3 else 1
    return {}
