"""The catalogue of moves: changes to a Triton kernel against each limit, when to make them, when not, with a sketch.

Every move can be written in plain Triton. Shared memory, warps, lanes and streams belong to the compiler and cannot be
controlled. A kernel controls shapes, orders, hints and options, so those are the moves.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.diagnosis.traits import Trait
from kernelwright.model import Limit, Record


class Move(Record, frozen=True, kw_only=True):
    """against: the limits that it addresses. needs: traits that a problem must have for it. sketch: Triton code, with
    names that a reader fills in."""

    name: str
    against: tuple[Limit, ...]
    needs: tuple[Trait, ...] = ()
    what: str
    when: str
    when_not: str
    sketch: str


MOVES: tuple[Move, ...] = (
    Move(
        name="read once",
        against=(Limit.EXCESS_BYTES, Limit.DRAM, Limit.CACHE),
        what="Fuse passes: keep the row or tile in registers, or carry running results through one pass.",
        when="The same input is loaded by two loops or two kernels.",
        when_not="The row does not fit registers and a running formulation would need more arithmetic than a re-read.",
        sketch="m_new = tl.maximum(m, tl.max(x, 0))\n"
        "s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), 0)\n"
        "m = m_new",
    ),
    Move(
        name="several outputs a program",
        against=(Limit.CACHE, Limit.EXCESS_BYTES, Limit.INSTRUCTIONS),
        needs=(Trait.OVERLAPS,),
        what="Let one program compute neighbouring outputs, so that overlapping inputs are loaded once and reused.",
        when="Stencils, windows and convolutions: outputs share inputs, L1 or L2 is busier than DRAM.",
        when_not="Outputs share nothing, or the accumulators would spill.",
        sketch="rows = tl.program_id(0) * ROWS\n"
        "for r in tl.static_range(ROWS + TAPS - 1):\n"
        "    x = tl.load(x_ptr + (rows + r) * width + columns, mask=inside, other=0.0)\n"
        "    # add x to every one of the ROWS accumulators whose window holds row r",
    ),
    Move(
        name="contiguous fastest axis",
        against=(Limit.UNCOALESCED, Limit.EXCESS_BYTES, Limit.CACHE),
        what="Make the block's last axis the one that is contiguous in memory; transpose the work, not the data.",
        when="Neighbouring elements of a block lie far apart: many sectors for each request.",
        when_not="The contiguous extent is tiny (under 32 bytes): flatten two axes instead.",
        sketch="rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]\n"
        "columns = tl.arange(0, BLOCK_C)[None, :]  # stride 1 in memory\n"
        "x = tl.load(x_ptr + rows * stride_row + columns, mask=columns < n, other=0.0)",
    ),
    Move(
        name="wider loads",
        against=(Limit.CACHE, Limit.UNCOALESCED, Limit.INSTRUCTIONS, Limit.LATENCY),
        what="Give each thread neighbouring elements and tell the compiler what is aligned: 16 bytes a load.",
        when="Loads in the code are 2 or 4 bytes wide, rows are aligned or can be split into an aligned interior.",
        when_not="Offsets are odd by nature (a shifted window): load an aligned superset once, use it often.",
        sketch="offsets = tl.multiple_of(row * stride_row, 8) + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)\n"
        "x = tl.load(x_ptr + offsets)  # no mask inside; the ragged edge is another program's",
    ),
    Move(
        name="no mask inside",
        against=(Limit.INSTRUCTIONS, Limit.CACHE),
        what="Split off the ragged edge, so that the interior needs no mask and its loads stay wide.",
        when="Masks come with every load, and most blocks are whole.",
        when_not="Blocks are few, so the branch costs as much as the masks.",
        sketch="if (tl.program_id(0) + 1) * BLOCK <= n:\n"
        "    tl.store(out_ptr + offsets, f(tl.load(x_ptr + offsets)))\n"
        "else:\n"
        "    tl.store(out_ptr + offsets, f(tl.load(x_ptr + offsets, mask=offsets < n)), mask=offsets < n)",
    ),
    Move(
        name="order for L2",
        against=(Limit.EXCESS_BYTES, Limit.CACHE, Limit.TENSOR),
        needs=(Trait.OVERLAPS,),
        what="Number programs so that those that share inputs run at the same time.",
        when="Blocks that share rows or columns of an input are far apart in the grid; L2 hit rate is low.",
        when_not="Nothing is shared between programs.",
        sketch="band = tile // (GROUP * tiles_n)\n"
        "height = tl.minimum(tiles_m - band * GROUP, GROUP)\n"
        "tile_m = band * GROUP + tile % (GROUP * tiles_n) % height\n"
        "tile_n = tile % (GROUP * tiles_n) // height",
    ),
    Move(
        name="eviction hints",
        against=(Limit.DRAM, Limit.EXCESS_BYTES),
        needs=(Trait.LOOPS,),
        what="Say what is read once and what is shared, so that the caches keep the right lines.",
        when="Streams and reused data go through one cache; DRAM is near its peak already.",
        when_not="All data is read once, or all fits L2: then it changes nothing.",
        sketch='x = tl.load(x_ptr + offsets, eviction_policy="evict_first")\n'
        'w = tl.load(w_ptr + shared, eviction_policy="evict_last")\n'
        'tl.store(out_ptr + offsets, y, cache_modifier=".cs")',
    ),
    Move(
        name="as much at a time as L2 holds",
        against=(Limit.EXCESS_BYTES, Limit.DRAM),
        needs=(Trait.REDUCES,),
        what="Let fewer programs be at work at once, so that what each reads twice is still in L2 the second time.",
        when="A row is walked twice, and resident programs times bytes of a row are more than L2.",
        when_not="Nothing is read twice, or fewer programs leave too few bytes under way.",
        sketch="long_row_kernel[(rows,)](x, y, columns, num_warps=32)  # one at a time; was num_warps=16",
    ),
    Move(
        name="smaller tiles",
        against=(Limit.SPILLS, Limit.OCCUPANCY, Limit.GRID),
        what="Halve a block's side: fewer registers a thread, more blocks.",
        when="Registers spill, or registers or shared memory allow few blocks on a multiprocessor.",
        when_not="Programs share inputs, and reuse would suffer more: try more warps first.",
        sketch="kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64, num_warps=4)  # was BLOCK=128",
    ),
    Move(
        name="more warps for the tile",
        against=(Limit.SPILLS, Limit.OCCUPANCY, Limit.LATENCY),
        what="Spread the same tile over more threads: fewer registers each, more loads under way.",
        when="A program has few warps and its threads hold many values.",
        when_not="The tile is so small that threads would idle (elements / threads under 1).",
        sketch="kernel[grid](x, y, n, BLOCK=4096, num_warps=16)  # was num_warps=4",
    ),
    Move(
        name="shorter lives",
        against=(Limit.SPILLS,),
        needs=(Trait.LOOPS,),
        what="Compute values where they are used, accumulate at once, load in a loop rather than all at the start.",
        when="A static loop holds every tap's values before it adds them up.",
        when_not="The values are used again later.",
        sketch="for tap in tl.static_range(TAPS):\n"
        "    acc += tl.load(x_ptr + offsets + tap).to(tl.float32) * tl.load(w_ptr + tap)",
    ),
    Move(
        name="split the reduction",
        against=(Limit.GRID, Limit.LATENCY),
        needs=(Trait.LOOPS,),
        what="Let several programs share a long reduction: partial results, then a small second kernel or atomic adds.",
        when="Fewer programs than multiprocessors, each with a long loop.",
        when_not="There are enough programs, or the order of additions must be fixed (atomics change it).",
        sketch="part = tl.sum(acc, 0)\n"
        "tl.store(partial_ptr + row * SPLITS + tl.program_id(1), part)  # a second kernel adds SPLITS numbers",
    ),
    Move(
        name="fill the last wave",
        against=(Limit.GRID,),
        needs=(Trait.LOOPS,),
        what="Choose the block so that the grid is a little under a whole number of waves, or let programs loop.",
        when="The grid is one to four waves and the last one is mostly empty.",
        when_not="There are dozens of waves: the tail is then a small part.",
        sketch="for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):  # one program a slot\n"
        "    work(tile)",
    ),
    Move(
        name="use the tensor cores",
        against=(Limit.TENSOR_UNUSED,),
        needs=(Trait.TENSOR_CORES,),
        what="Write the sum of products as tl.dot of tiles with sides of at least 16 and a float32 accumulator.",
        when="Half-precision sums of products: convolutions become products of gathered patches and weights.",
        when_not="float32 inputs whose products must be exact (TF32 is not), or one factor is a vector.",
        sketch="acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)\n"
        "for tap in range(TAPS):\n"
        "    a = tl.load(x_ptr + patch_offsets(tap), mask=inside, other=0.0)  # (BLOCK_M, BLOCK_K)\n"
        "    acc = tl.dot(a, tl.load(w_ptr + weight_offsets(tap)), acc)",
    ),
    Move(
        name="skip known zeros",
        against=(Limit.TENSOR_UNUSED, Limit.INSTRUCTIONS, Limit.TENSOR, Limit.CACHE),
        needs=(Trait.ZEROS,),
        what="Leave out work whose result is known: taps in the padding, outputs that a stride never reaches.",
        when="The problem has structure: strides, dilation, masks, triangles.",
        when_not="Finding out costs more than the work, or neighbouring threads would branch apart.",
        sketch="if tile_n * BLOCK_N <= (tile_m + 1) * BLOCK_M:  # only tiles that touch the lower triangle\n"
        "    acc = step(acc, tile_m, tile_n)",
    ),
    Move(
        name="larger tensor tiles",
        against=(Limit.TENSOR,),
        needs=(Trait.TENSOR_CORES,),
        what="128 × 128 or 128 × 256 tiles with 8 warps: more products for each byte that goes through shared memory.",
        when="Tensor cores wait for operands, and there are enough tiles for all multiprocessors.",
        when_not="The grid would fall under one wave.",
        sketch="kernel[grid](a, b, c, BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3)",
    ),
    Move(
        name="descriptors",
        against=(Limit.TENSOR, Limit.INSTRUCTIONS),
        needs=(Trait.LOOPS, Trait.COPY_ENGINE),
        what="Load tiles through tensor descriptors: the copy engine computes addresses and bounds, not the threads.",
        when="Tiles of dense matrices whose rows are multiples of 16 bytes.",
        when_not="Gathers, ragged rows, or before Hopper.",
        sketch="a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])\n"
        "a = a_desc.load([tile_m * BLOCK_M, k])",
    ),
    Move(
        name="loads ahead of use",
        against=(Limit.LATENCY, Limit.TENSOR),
        needs=(Trait.LOOPS,),
        what="Pipeline the loop over tiles: the next loads start before this tile's arithmetic ends.",
        when="A loop loads and computes in turn, and warps wait for memory (long scoreboard).",
        when_not="There is no loop, or shared memory for the stages would cut occupancy.",
        sketch="for start in tl.range(0, n, BLOCK, num_stages=4):\n    acc = step(acc, tl.load(x_ptr + start + lanes))",
    ),
    Move(
        name="more bytes in flight",
        against=(Limit.LATENCY, Limit.OCCUPANCY, Limit.DRAM),
        what="Issue several independent loads before the first is used: a larger block or an unrolled row loop.",
        when="Memory-bound, DRAM far from its peak, each thread has one small load under way.",
        when_not="Registers are short, or the grid is small already.",
        sketch="x0 = tl.load(x_ptr + offsets)\nx1 = tl.load(x_ptr + offsets + BLOCK)\nacc += f(x0) + f(x1)",
    ),
    Move(
        name="cheaper addresses",
        against=(Limit.INSTRUCTIONS,),
        what="Divide and take remainders once per program, not per element; keep offsets in int32 where they fit.",
        when="Issue slots are busy and the code divides block-wide index tensors.",
        when_not="Offsets exceed 2**31 elements: keep the base in int64 and the offset within it in int32.",
        sketch="plane = tl.program_id(1).to(tl.int64)  # one scalar division, not BLOCK of them\n"
        "row = tl.program_id(0) * ROWS\n"
        "offsets = (row + tl.arange(0, ROWS)[:, None]) * width + tl.arange(0, BLOCK)[None, :]",
    ),
    Move(
        name="cheaper functions",
        against=(Limit.INSTRUCTIONS,),
        needs=(Trait.FUNCTIONS,),
        what="exp2 with the factor folded in, a reciprocal instead of many divisions, fewer conversions.",
        when="The special-function or conversion pipes are busy; or issue slots are, and each value takes a "
        "tl.exp, which is an exp2 with a comparison and two multiplications around it.",
        when_not="The tolerance leaves no room: check with `verify`.",
        sketch="p = tl.exp2(x * LOG2E - m * LOG2E)  # one FMA, one exp2\ny = p * (1.0 / s)",
    ),
    Move(
        name="a reference near the maximum",
        against=(Limit.INSTRUCTIONS,),
        needs=(Trait.EXPONENTIALS,),
        what="Sum exponentials beside the first block's maximum in place of a running one: nothing to correct.",
        when="Issue slots are busy in a loop that keeps a running maximum for a sum of exponentials.",
        when_not="The sum may overflow and there is no second walk, with the true maximum, for where it did.",
        sketch="reference = tl.max(first, 0)\n"
        "total += tl.exp2((x - reference) * LOG2E)  # in the loop\n"
        "overflowed = total - total != 0.0  # inf or NaN: then walk again with the true maximum",
    ),
    Move(
        name="reduce the axis a thread holds",
        against=(Limit.SHARED,),
        needs=(Trait.REDUCES,),
        what="Loop over the reduced axis, each thread adding up its own column: no value leaves its thread.",
        when="The reduced axis is the strided one in memory, or short.",
        when_not="The reduced axis is the contiguous one: neighbouring threads then have to meet.",
        sketch="acc = tl.zeros((BLOCK,), tl.float32)\n"
        "for feature in range(features):\n"
        "    x = tl.load(x_ptr + feature * stride_feature + columns, mask=inside, other=0.0).to(tl.float32)\n"
        "    acc += x * x",
    ),
    Move(
        name="fewer reductions across warps",
        against=(Limit.SYNCHRONISATION, Limit.SHARED),
        needs=(Trait.REDUCES,),
        what="Reduce along the axis that a thread holds, once at the end of the loop rather than in every step.",
        when="Warps wait at barriers; there is a reduction inside a loop.",
        when_not="The next step needs the reduced value.",
        sketch="acc = tl.zeros((BLOCK,), tl.float32)\n"
        "for start in range(0, n, BLOCK):\n"
        "    acc += tl.load(x_ptr + start + tl.arange(0, BLOCK))\n"
        "total = tl.sum(acc, 0)  # one reduction after the loop",
    ),
    Move(
        name="fewer warps for the tile",
        against=(Limit.SYNCHRONISATION, Limit.SHARED),
        needs=(Trait.REDUCES,),
        what="A row per one or two warps needs no barrier, or a cheap one.",
        when="Rows are short, programs have 8 or more warps.",
        when_not="A row does not fit the registers of few threads.",
        sketch="kernel[(rows,)](x, y, columns, BLOCK=1024, num_warps=2)  # was num_warps=8",
    ),
    Move(
        name="one launch",
        against=(Limit.LAUNCH,),
        needs=(Trait.SHORT,),
        what="One kernel instead of several; no zeroed scratch, no contiguous copies, few arguments.",
        when="Calls are short: starting kernels costs the host more than they run.",
        when_not="The parts have different grids and each is long.",
        sketch="fused_kernel[(rows,)](x, scale, out, columns, BLOCK=BLOCK)  # not two kernels and a torch.zeros",
    ),
    Move(
        name="more work a launch",
        against=(Limit.LAUNCH,),
        needs=(Trait.SHORT,),
        what="Several rows a program do not help the host; one launch for several tensors or heads does.",
        when="The caller launches the same kernel in a loop.",
        when_not="There is one launch already: then only the caller can help, with a CUDA graph around its calls.",
        sketch="kernel[(rows, batch)](x, out, stride_batch, columns, BLOCK=BLOCK)  # not one launch per batch entry",
    ),
)
"""In the order in which they are tried against a limit: the first move with that limit is the most promising."""


def moves_against(limit: Limit) -> tuple[Move, ...]:
    return tuple(move for move in MOVES if limit in move.against)


def fitting(traits: frozenset[Trait], moves: Iterable[Move] = MOVES) -> tuple[Move, ...]:
    """The moves that fit a problem with these traits."""
    return tuple(one for one in moves if traits.issuperset(one.needs))


def move(name: str) -> Move:
    """The move with this name; KeyError where there is none."""
    return {one.name: one for one in MOVES}[name]
