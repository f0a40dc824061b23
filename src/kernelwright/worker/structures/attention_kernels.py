"""The kernels of attention: one for many rows of queries, and one that divides the keys among programs for few.

The algorithm is that of "FlashAttention-2" (Dao, arXiv:2307.08691, section 3.1): products over blocks of keys with a
running softmax.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kernelwright.model import Structure
from kernelwright.worker.structures.chain import Chain
from kernelwright.worker.structures.found import filled
from kernelwright.worker.structures.masks import Band, hint_of

IDEA = """\
Attention without the matrix of scores in memory: products over blocks of keys with a running softmax, over those \
blocks that the mask leaves. Where few rows read many keys, the keys are divided among programs."""

PARAMETERS = """
    {pointers}
    q_batch, q_head, q_row, q_depth, k_batch, k_head, k_row, k_depth, v_batch, v_head, v_row, v_depth,
    {parameters}
    rows, columns, HEADS: tl.constexpr, SHARE: tl.constexpr, DEPTH: tl.constexpr, DEPTH_WIDTH: tl.constexpr,
    VALUES: tl.constexpr, VALUES_WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
"""

ARGUMENTS = """
        {pointers_given}
        q.stride(0), q.stride(1), q.stride(2), q.stride(3), k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        {parameters_given}
        rows, columns, HEADS=heads, SHARE=heads // k.shape[1], DEPTH=depth,
        DEPTH_WIDTH=max(16, triton.next_power_of_2(depth)), VALUES=values,
        VALUES_WIDTH=max(16, triton.next_power_of_2(values)), BLOCK_N=ATTENTION_BLOCK_N,
        num_warps=ATTENTION_NUM_WARPS, num_stages=ATTENTION_NUM_STAGES,
"""

LOOP = """
    depth = tl.arange(0, DEPTH_WIDTH)
    value = tl.arange(0, VALUES_WIDTH)
    in_depth = depth < DEPTH
    in_values = value < VALUES
    q_ptrs = q_ptr + batch * q_batch + head * q_head + row[:, None] * q_row + depth[None, :] * q_depth
    q = tl.load(q_ptrs, mask=in_rows[:, None] & in_depth[None, :], other=0.0)
    k_ptr += batch * k_batch + shared_head * k_head
    v_ptr += batch * v_batch + shared_head * v_head
    # Scores of a block of keys stay in registers; `largest` and `total` are of the columns so far, and `acc` is of
    # values whose shares are not divided by the total yet.
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, VALUES_WIDTH), tl.float32)
    for phase in tl.static_range({phases}, 3):
        # Only blocks that the mask cuts are masked, and the last one: those before (0), and after (2) the whole ones.
        begin = first
        end = last
        {parts}
        for start in range(begin, end, BLOCK_N):
            column = start + tl.arange(0, BLOCK_N)
            in_columns = (column < {end}) | (phase == 1)
            k_ptrs = k_ptr + depth[:, None] * k_depth + column[None, :] * k_row
            k = tl.load(k_ptrs, mask=in_depth[:, None] & in_columns[None, :], other=0.0)
            score = tl.dot(q, k, allow_tf32={tf32})
            inside = in_rows[:, None] & in_columns[None, :]
            {chain}
            if phase != 1:
                score = tl.where(in_columns[None, :], score, float("-inf"))
            above = tl.maximum(largest, tl.max(score, 1) * 1.4426950408889634)  # to the base 2
            shift = tl.where(above == float("-inf"), 0.0, above)
            share = tl.exp2(score * 1.4426950408889634 - shift[:, None])
            kept = tl.exp2(largest - shift)
            total = total * kept + tl.sum(share, 1)
            v_ptrs = v_ptr + column[:, None] * v_row + value[None, :] * v_depth
            v = tl.load(v_ptrs, mask=in_columns[:, None] & in_values[None, :], other=0.0)
            acc = tl.dot(share.to(v.dtype), v, acc * kept[:, None], allow_tf32={tf32})
            largest = above"""

MANY_ROWS = f"""
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr,{PARAMETERS}):
    # One block of query rows of one head, the last rows first: under a causal mask they take longest.
    first_row = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    pair = tl.program_id(1).to(tl.int64)
    batch, head = pair // HEADS, pair % HEADS
    shared_head = head // SHARE  # of keys and values
    row = first_row + tl.arange(0, BLOCK_M)
    in_rows = row < rows
    {{limits}}{LOOP}
    {{empty}}
    out = acc / total[:, None]
    place = (pair * rows + row[:, None]) * VALUES + value[None, :]
    tl.store(out_ptr + place, out.to(out_ptr.dtype.element_ty), mask=in_rows[:, None] & in_values[None, :])


def attention({{arguments}}):
    batch, heads, rows, depth = q.shape
    columns, values = v.shape[2], v.shape[3]
    out = torch.empty((batch * heads, rows, values), dtype=v.dtype, device=v.device)
    {{expanded}}
    attention_kernel[(triton.cdiv(rows, ATTENTION_BLOCK_M), batch * heads)](
        q, k, v, out,{ARGUMENTS}        BLOCK_M=ATTENTION_BLOCK_M,
    )
    return out
"""

FEW_ROWS = f"""
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, acc_ptr, largest_ptr, total_ptr,{PARAMETERS}    SPLITS: tl.constexpr,
):
    # One part of the keys, for all rows of all heads that share them.
    split = tl.program_id(0)
    pair = tl.program_id(1).to(tl.int64)
    batch, shared_head = pair // (HEADS // SHARE), pair % (HEADS // SHARE)
    place = tl.arange(0, BLOCK_M)
    in_rows = place < SHARE * rows
    row = place % rows
    head = (shared_head * SHARE + place // rows)[:, None]
    {{limits}}
    length = tl.cdiv(tl.cdiv(last - first, BLOCK_N), SPLITS) * BLOCK_N
    first += split * length
    last = tl.minimum(first + length, last){LOOP}
    at = split * (tl.num_programs(1) * SHARE * rows) + pair * SHARE * rows + place
    tl.store(largest_ptr + at, largest, mask=in_rows)
    tl.store(total_ptr + at, total, mask=in_rows)
    tl.store(acc_ptr + at[:, None] * VALUES + value[None, :], acc, mask=in_rows[:, None] & in_values[None, :])


@triton.jit
def attention_kernel_of_parts(
    acc_ptr, largest_ptr, total_ptr, out_ptr, count, SPLITS: tl.constexpr, SPLITS_WIDTH: tl.constexpr,
    VALUES: tl.constexpr, VALUES_WIDTH: tl.constexpr,
):
    # One row: the parts by their largest scores.
    row = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, SPLITS_WIDTH)
    value = tl.arange(0, VALUES_WIDTH)
    in_splits = split < SPLITS
    in_values = value < VALUES
    at = split * count + row
    largest = tl.load(largest_ptr + at, mask=in_splits, other=float("-inf"))
    total = tl.load(total_ptr + at, mask=in_splits, other=0.0)
    above = tl.max(largest, 0)
    weight = tl.exp2(largest - tl.where(above == float("-inf"), 0.0, above))
    inside = in_splits[:, None] & in_values[None, :]
    acc = tl.load(acc_ptr + at[:, None] * VALUES + value[None, :], mask=inside, other=0.0)
    acc = tl.sum(acc * weight[:, None], 0)
    total = tl.sum(total * weight, 0)
    {{empty}}
    tl.store(out_ptr + row * VALUES + value, (acc / total).to(out_ptr.dtype.element_ty), mask=in_values)


def attention({{arguments}}):
    batch, heads, rows, depth = q.shape
    columns, values = v.shape[2], v.shape[3]
    shared = k.shape[1]
    count = batch * heads * rows
    acc = torch.empty((ATTENTION_SPLITS, count, values), dtype=torch.float32, device=v.device)
    largest = torch.empty((ATTENTION_SPLITS, count), dtype=torch.float32, device=v.device)
    total = torch.empty((ATTENTION_SPLITS, count), dtype=torch.float32, device=v.device)
    out = torch.empty((batch * heads, rows, values), dtype=v.dtype, device=v.device)
    {{expanded}}
    attention_kernel[(ATTENTION_SPLITS, batch * shared)](
        q, k, v, acc, largest, total,{ARGUMENTS}        SPLITS=ATTENTION_SPLITS,
        BLOCK_M=max(16, triton.next_power_of_2(heads // shared * rows)),
    )
    attention_kernel_of_parts[(count,)](
        acc, largest, total, out, count, SPLITS=ATTENTION_SPLITS,
        SPLITS_WIDTH=triton.next_power_of_2(ATTENTION_SPLITS), VALUES=values,
        VALUES_WIDTH=max(16, triton.next_power_of_2(values)),
    )
    return out
"""

FEW = 64
"""Rows of all heads that share keys, up to which the keys are divided among programs."""

LEAST_COLUMNS = 512
"""From here on."""

PROGRAMS = 132
"""Wanted, one for each multiprocessor of an H100 or H200."""


def written_as(chain: Chain, name: str, is_safe: bool, q: Tensor, k: Tensor) -> Structure:
    """The kernels for what a chain does to scores. name: of the scores after it. is_safe: whether a row in which all is
    masked is zero."""
    names, band = [*chain.tensors], chain.band or Band(None, None)
    strides = ("batch", "head", "row", "column")
    few, splits = _splits(q, k)
    low, high = ("0", "rows") if few else ("first_row", "first_row + BLOCK_M")
    limits = [
        "first = 0" if band.least is None else f"first = tl.maximum({low} + ({band.least}), 0) // BLOCK_N * BLOCK_N",
        "last = columns" if band.most is None else f"last = tl.minimum({high} + ({band.most}), columns)",
    ]
    whole = [
        "first_whole = 0" if band.least is None else
        f"first_whole = tl.cdiv(tl.maximum({high} - 1 + ({band.least}), 0), BLOCK_N) * BLOCK_N",
        "end_whole = columns // BLOCK_N * BLOCK_N" if band.most is None else
        f"end_whole = tl.minimum(tl.maximum({low} + 1 + ({band.most}), 0), columns) // BLOCK_N * BLOCK_N",
    ]  # fmt: skip
    within = ["if phase == 0:", "    end = tl.minimum(first_whole, last)", "if phase == 1:", "    begin = first_whole",
              "    end = end_whole", "if phase == 2:", "    begin = tl.maximum(first_whole, end_whole)"]  # fmt: skip
    parts = {
        "pointers": [f"{one}_ptr," for one in names],
        "parameters": [*(", ".join(f"{one}_{side}" for side in strides) + "," for one in names),
                       *(f"{one}," for one in chain.numbers)],
        "limits": limits if few else [*limits, *whole],
        "parts": [] if few else within[2 * (band.least is None):],
        "chain": [*chain.lines, *([f"score = {name}"] if name != "score" else [])],
        "empty": ["total = tl.where(total == 0.0, 1.0, total)  # of a row in which all is masked"] * is_safe,
        "expanded": [*(f"{one} = {one}.reshape(batch, heads, {one}.shape[1], {one}.shape[2])" for one in names
                       if one in chain.merged),
                     *(f"{one} = {one}.expand(batch, heads, rows, columns)" for one in names)],
        "pointers_given": [f"{one}," for one in names],
        "parameters_given": [*(", ".join(f"{one}.stride({side})" for side in range(4)) + "," for one in names),
                             *(f"{one}," for one in chain.numbers)],
    }  # fmt: skip
    words = {
        "arguments": ", ".join(["q", "k", "v", *names, *chain.numbers]),
        "tf32": str(torch.backends.cuda.matmul.allow_tf32), "end": "last" if few else "columns",
        "phases": "2" if few else "0" if band.least is not None else "1",
    }  # fmt: skip
    return Structure(
        function="attention", source=filled(FEW_ROWS if few else MANY_ROWS, parts, words),
        config=_config(q, splits if few else None), shape=(((0, 0), (0, 1)), ((0, 2),), ((2, 3),)), like=2, idea=IDEA,
    )  # fmt: skip


def _splits(q: Tensor, k: Tensor) -> tuple[bool, int]:
    """Whether the keys are divided, and into how many parts."""
    batch, heads, rows, _ = map(hint_of, q.shape)
    shared, columns = hint_of(k.shape[1]), hint_of(k.shape[2])
    parts = 1 << max(0, math.floor(math.log2(PROGRAMS / (batch * shared))))
    return heads // shared * rows <= FEW and columns >= LEAST_COLUMNS, min(parts, 64, columns // 64)


def _config(q: Tensor, splits: int | None) -> dict[str, int]:
    """A first config, the fastest of those that were timed (benchmarks/results/structures.md). Float32, and heads of
    more than 128 elements, take twice the shared memory."""
    is_float32, is_wide = q.dtype == torch.float32, hint_of(q.shape[-1]) > 128
    if splits is not None:
        block_n = 32 if is_float32 else 64 if is_wide else 128
        return {"SPLITS": splits, "BLOCK_N": block_n, "NUM_WARPS": 4, "NUM_STAGES": 2 if is_float32 else 3}
    if is_float32:
        return {"BLOCK_M": 64, "BLOCK_N": 32, "NUM_WARPS": 4, "NUM_STAGES": 2}
    return {"BLOCK_M": 128, "BLOCK_N": 64, "NUM_WARPS": 8, "NUM_STAGES": 2 if is_wide else 3}
