"""First configs of generated kernels: the measured rules, and what of them follows from the GPU.

Figures are of an H100 or H200, torch 2.11 and Triton 3.6. On another GPU blocks stay as they are. Stages follow
from its shared memory, warps of split products from where its tensor cores read factors, and which rows are read twice
in large blocks from its multiprocessors and L2 cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kernelwright.model import Tiles

Config = Mapping[str, int]

# --- tiles of products and convolutions --------------------------------------------------------------------------

TILE = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4}
"""For operands of 32 bits: 16 KiB per stage, which fits any target."""

HALF_TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8}
"""For half precision: 32 KiB per stage, and a tile that fills wgmma on sm_90."""

STAGES = 3
"""Stages of a tile, where the GPU has shared memory for one more: Triton 3.7 takes that for sm_80 and sm_86
(`make targets`)."""

SPLIT_TILE = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3}
"""For split float32 products: the fastest of ten for tf32x3, for the products of `inductor.products`."""

SHORT_STEPS = {**SPLIT_TILE, "BLOCK_K": 16}
"""For convolutions whose weights have rows that begin at no multiple of 16 numbers, so that each number is loaded by
itself. On an H200, 96 channels with windows of 3 x 11 x 11 took 3.3 ms in place of 4.5, and 64 with 3 x 3 x 3 x 3
2.3 ms in place of 3.4."""

STEP_NUMBERS = 2048
"""Where a step of a convolution by elements of the window has as many numbers of the second factor, 64 rows were faster
than 128 (six convolutions on an H100, up to 11 configs each)."""

WIDE = 128
"""Columns of a tile of a convolution that has as many channels; it was faster on an H100."""

RESULTS_IN_WARP = 1024
"""Results of a tile for a warp where tensor cores read factors from registers (all GPUs but sm_90 and sm_100). With
2,048, split products in tiles of 64 x 128 spill 128 bytes of each thread on sm_89 (Triton 3.7), with 1,024 none."""

LEAST_BLOCK = 16
"""Smallest side of a block of `tl.dot`."""


def tile_for(itemsize: int, shared_bytes: int, columns: int, channels: int | None = None) -> dict[str, int]:
    """The config of a template whose products are not split. itemsize: bytes of an element of both factors.
    shared_bytes: that a block of the GPU may have. columns: of the result. channels: of a convolution that multiplies
    those under one element of the window at a time; a step has no more of them than it must."""
    half = {"BLOCK_N": min(HALF_TILE["BLOCK_N"], _block_of(columns))}
    if channels is not None:
        blocks = (most, most // 2) if _block_of(channels) >= (most := HALF_TILE["BLOCK_K"]) else (_block_of(channels),)
        half["BLOCK_K"] = min(blocks, key=lambda block: -(-channels // block) * block)
    tile = {**HALF_TILE, **half} if itemsize == 2 else TILE
    step_bytes = (tile["BLOCK_M"] + tile["BLOCK_N"]) * tile["BLOCK_K"] * itemsize
    return {**tile, "num_stages": max(1, min(STAGES, shared_bytes // step_bytes - 1))}


FIRST_TMA = 9
"""Major capability from which on a GPU has a copy engine for tiles."""

PRODUCT_TILES = ((128, 256, 8, 1.0), (128, 128, 8, 0.85), (128, 64, 4, 0.7), (64, 64, 4, 0.5))
"""For products in half precision whose tiles the copy engine fetches: rows, columns, warps, and the speed beside that
of the first where all multiprocessors have one. On an H200 the first two took 183 and 209 us for 4,096 squared."""

FEW_STEPS, FEW_ROUNDS = 8, 4
"""One loop of tiles and their steps is slower than two where a multiprocessor has one tile, and where it has few and
more is done to the result: 131 us and 108 with a GELU for 2,048 x 4,096 x 4,096, which are two tiles, but 782 and 799
for 16,384 x 4,096 x 4,096, which are 16 (H200)."""


def tile_of_product(
    batches: int, rows: int, columns: int, products: int, steps: int, result_bytes: int, multiprocessors: int,
    shared_bytes: int, major: int,
) -> dict[str, int]:  # fmt: skip
    """For products with many rows in half precision. products: of one x, each with its sums in registers. steps: what
    is done to the result. result_bytes: of an element, and of one that is read with it, such as a residual's. major: of
    the GPU's capability."""
    if major < FIRST_TMA:
        return {**tile_for(2, shared_bytes, columns), "GROUP_M": 8, "FLATTEN": 0}

    def rounds(block_m: int, block_n: int) -> int:
        tiles = batches * -(-rows // block_m) * -(-columns // (block_n // products))
        return -(-tiles // multiprocessors)

    block_m, block_n, warps, _ = min(PRODUCT_TILES, key=lambda one: rounds(*one[:2]) * one[0] * one[1] / one[3])
    step_bytes, stored_bytes = 2 * (block_m + block_n) * 64, block_m * block_n // products // 2 * result_bytes
    is_large = block_n == PRODUCT_TILES[0][1]
    return {
        "BLOCK_M": block_m, "BLOCK_N": block_n // products, "BLOCK_K": 64, "GROUP_M": 16,
        "FLATTEN": int(rounds(block_m, block_n) > (1 if steps <= FEW_STEPS else FEW_ROUNDS)), "num_warps": warps,
        "num_stages": max(1, min(4 if is_large else 5, (shared_bytes - stored_bytes - 1024) // step_bytes)),
    }  # fmt: skip


def all_columns(tiles: Tiles) -> int:
    """The smallest block that has all columns."""
    return _block_of(tiles.columns)


def _block_of(columns: int) -> int:
    return max(LEAST_BLOCK, 1 << (columns - 1).bit_length())


def tile_of_parts(tiles: Tiles) -> Config:
    """For products whose second factor is split before the kernel begins."""
    if tiles.is_product:
        return _with_threads(tiles, {**SPLIT_TILE, "BLOCK_M": 64, "BLOCK_N": 128})
    if (channels := tiles.channels) is not None:
        columns, step = min(WIDE, all_columns(tiles)), 16 if channels % 32 else 32
        rows = 64 if columns * step >= STEP_NUMBERS else 128
        return _with_threads(tiles, {**SPLIT_TILE, "BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": step})
    is_wide = all_columns(tiles) >= WIDE
    if tiles.depth % 16:
        return _with_threads(tiles, {**SHORT_STEPS, "BLOCK_N": WIDE, "num_warps": 8} if is_wide else SHORT_STEPS)
    return _with_threads(tiles, {**SPLIT_TILE, "BLOCK_M": 64, "BLOCK_N": WIDE} if is_wide else SPLIT_TILE)


def tile_of_tf32x3(tiles: Tiles) -> Config:
    """For products that `tl.dot` splits. Convolutions get smaller tiles, which were faster where much follows the
    product (two activations on an H100: 5.5 ms, 7.2 with 128 rows)."""
    if tiles.is_product:
        return _with_threads(tiles, SPLIT_TILE)
    small = SHORT_STEPS if tiles.depth % 16 else {**SPLIT_TILE, "BLOCK_M": 64, "BLOCK_N": 64}
    return _with_threads(tiles, small)


def _with_threads(tiles: Tiles, config: Config) -> Config:
    """The config, with enough warps for factors in registers."""
    least = config["BLOCK_M"] * config["BLOCK_N"] // RESULTS_IN_WARP if tiles.in_registers else 0
    return {**config, "num_warps": max(config["num_warps"], least)}


# --- rows of reductions ------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows that a kernel reduces. in_registers: how many numbers of one a block keeps there; 0 for a loop. loads:
    in the kernel, each of a block of the row at most."""

    length: int
    in_registers: int
    is_read_twice: bool
    is_strided: bool
    loads: int


MOST_WARPS, IN_WARP = 32, 1024
"""Warps for a row in one piece: 32 numbers a thread, as far as a block has that many threads."""

SHORT = {"R0_BLOCK": 1024, "num_warps": 4}
"""For a loop over the blocks of a row. Compared with Inductor's choice (one row, R0_BLOCK 2048, 16 warps), cumulative
sums were 1.27 and 1.16 times as fast, a layer norm 1.17, a group norm 1.08, a softmax 1.00, and norms, which `LONG`
serves, 0.77 (H200, kernels of KernelBench's level 1; so are the other figures of rows)."""

FETCHED = {"R0_BLOCK": 4096, "num_warps": 8}
"""For a loop that has the blocks of `FETCHES` iterations in flight. In bfloat16 an instance norm was 1.22 times as fast
as with Inductor's choice, a softmax 1.14, other norms 1.04 to 1.06; a layer norm was 1.81 times as fast with `SHORT`
and four iterations."""

FETCHES = (4, 3)
"""Iterations in flight, as many as shared memory has room for. Two were slower than one in all but a layer norm."""

ELEMENT_BYTES = 4
"""Of float32; narrower rows take less."""

LONG = {"R0_BLOCK": 16384, "num_warps": 32}
"""For rows that are read in two loops. With large blocks few rows are read at the same time, so that they stay in the
L2 cache until the second loop. Norms of rows of 65,535 numbers were 1.69 times as fast."""

IN_L2 = 0.67
"""Share of the L2 cache that such rows may take, one in each multiprocessor: 132 of 65,536 float32 numbers take 33 MiB,
and an H100 has 50."""

STRIDED = {"XBLOCK": 128, "num_warps": 4}
"""For rows in one piece whose numbers are not adjacent. A mean over 64 channels was 1.29 times as fast as with 8 in a
block."""

MOST_STRIDED = 16384
"""Largest XBLOCK times length of a row for `STRIDED`: a thread holds 128 numbers then, twice as many as measured."""


def least_warps(rows: Rows) -> int:
    return min(MOST_WARPS, rows.in_registers // IN_WARP)


def changes_for(rows: Rows, likely: Config, multiprocessors: int, l2_bytes: int, shared_bytes: int) -> Iterator[Config]:
    """Changes of Inductor's likely config that were faster for such rows; nothing for others."""
    if likely.get("XBLOCK") == 1 and likely.get("R0_BLOCK", 0) > SHORT["R0_BLOCK"]:
        fits = ELEMENT_BYTES * rows.length * multiprocessors <= IN_L2 * l2_bytes
        yield _fetching(FETCHED, rows, shared_bytes)
        is_long = rows.is_read_twice and LONG["R0_BLOCK"] < rows.length and fits
        yield LONG if is_long else _fetching(SHORT, rows, shared_bytes)
    strided = rows.in_registers and rows.is_strided
    if strided and likely["XBLOCK"] < STRIDED["XBLOCK"] <= MOST_STRIDED // rows.length:
        yield STRIDED


def _fetching(change: Config, rows: Rows, shared_bytes: int) -> Config:
    iteration_bytes = change["R0_BLOCK"] * ELEMENT_BYTES * max(1, rows.loads)
    return {**change, "num_stages": next((one for one in FETCHES if one * iteration_bytes <= shared_bytes), 1)}
