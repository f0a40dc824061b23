"""Cross-entropy that reads the logits once beside a reference near the maximum, two values in bfloat16 as one word.

Idea: as near.py, the maximum of a stretch's first block stands in for that of the stretch, and a sum that overflowed is
taken again with the true one. A float32 whose upper half is a bfloat16 is that value: so of a word that holds two, the
lower becomes one by a shift and the upper by a mask. To take the upper out as a bfloat16 costs one instruction more.
Must move: rows * vocabulary elements once; about 3 FLOP and one exponential each.
What decides: instructions per value in the loop (4.3 in bfloat16, where near.py has 4.9 and once.py 12.3).
"""

import torch
import triton
import triton.language as tl

LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)
LN2: tl.constexpr = tl.constexpr(0.6931471805599453)
LOWEST: tl.constexpr = tl.constexpr(-1.0e38)  # a reference has to be finite: -inf minus -inf would be NaN


@triton.jit
def powers(x, reference):
    """2 ** (x * log2(e) - reference): one FMA and one exp2, where exp would scale around its exp2 for tiny results."""
    return tl.exp2(x.to(tl.float32) * LOG2E - reference)


@triton.jit
def careful_log2_sum(logits_ptr, begin, end, BLOCK: tl.constexpr):
    """As log2_sum, with the true maximum for a reference: two walks, rarely needed."""
    lanes = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), LOWEST, tl.float32)
    for at in range(begin, end, BLOCK):
        x = tl.load(logits_ptr + at + lanes, mask=at + lanes < end, other=float("-inf"))
        largest = tl.maximum(largest, x.to(tl.float32))
    reference = tl.max(largest, axis=0) * LOG2E
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(begin, end, BLOCK):
        x = tl.load(logits_ptr + at + lanes, mask=at + lanes < end, other=float("-inf"))
        total += powers(x, reference)
    return reference, tl.log2(tl.sum(total, axis=0))


@triton.jit
def log2_sum(logits_ptr, begin, end, BLOCK: tl.constexpr, UNROLL: tl.constexpr, STAGES: tl.constexpr):
    """A reference, and log2 of the sum of 2**(x * log2(e) - reference), over the flat stretch [begin, end)."""
    STEP: tl.constexpr = BLOCK * UNROLL
    lanes = tl.arange(0, BLOCK)
    column = tl.arange(0, UNROLL)[:, None] * BLOCK + lanes[None, :]
    # The whole vectors of 8 are [first, last); where there are none, both are the stretch's end or its last vector's.
    first = tl.minimum((begin + 7) // 8 * 8, end)
    last = tl.maximum(end // 8 * 8, first)
    size = tl.multiple_of((last - first).to(tl.int32), 8)
    vectors = logits_ptr + tl.multiple_of(first, 8)
    final = BLOCK + tl.maximum(size - BLOCK - 1, 0) // STEP * STEP  # where the last step starts, of up to STEP values

    # All that is masked is asked for at once, before anything is waited for.
    x = tl.load(vectors + lanes, mask=lanes < size, other=float("-inf"))
    final_x = tl.load(vectors + final + column, mask=final + column < size, other=float("-inf"))
    lane = tl.arange(0, 16)
    at_end = tl.where(lane < 8, begin + lane, last + lane - 8)
    ends = tl.load(logits_ptr + at_end, mask=at_end < tl.where(lane < 8, first, end), other=float("-inf"))

    x = x.to(tl.float32)
    ends = ends.to(tl.float32)
    near_max = tl.maximum(tl.max(x, axis=0), tl.max(ends, axis=0))
    reference = tl.maximum(near_max, LOWEST) * LOG2E
    outer = powers(x, reference) + tl.sum(powers(final_x, reference), axis=0)

    PAIRS: tl.constexpr = logits_ptr.dtype.element_ty == tl.bfloat16
    LANES: tl.constexpr = BLOCK // 2 if PAIRS else BLOCK
    pair = tl.arange(0, UNROLL)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    total = tl.zeros((LANES,), tl.float32)
    for at in tl.range(BLOCK, final, STEP, num_stages=STAGES):
        if PAIRS:
            words = tl.load((vectors + at).to(tl.pointer_type(tl.int32)) + pair)
            total += tl.sum(powers((words << 16).to(tl.float32, bitcast=True), reference), axis=0)
            total += tl.sum(powers((words & -65536).to(tl.float32, bitcast=True), reference), axis=0)
        else:
            total += tl.sum(powers(tl.load(vectors + at + column), reference), axis=0)
    summed = tl.sum(total, axis=0) + tl.sum(outer, axis=0) + tl.sum(powers(ends, reference), axis=0)
    log2_summed = tl.log2(summed)
    if summed - summed != 0.0:  # inf or NaN: the reference was too far below
        reference, log2_summed = careful_log2_sum(logits_ptr, begin, end, BLOCK)
    return reference, log2_summed


@triton.jit
def cross_entropy_kernel(
    logits_ptr, labels_ptr, loss_ptr, reference_ptr, log2_ptr, vocabulary, parts, part_size,
    WHOLE: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) // parts
    start = tl.program_id(0) % parts * part_size
    offset = row.to(tl.int64) * vocabulary
    end = offset + tl.minimum(start + part_size, vocabulary)
    if WHOLE:  # first, so that these two loads, the second by the first, are not waited for at the end
        at_label = tl.load(logits_ptr + offset + tl.load(labels_ptr + row)).to(tl.float32)
        reference, log2_summed = log2_sum(logits_ptr, offset + start, end, BLOCK, UNROLL, STAGES)
        tl.store(loss_ptr + row, (reference - at_label * LOG2E + log2_summed) * LN2)
    else:
        reference, log2_summed = log2_sum(logits_ptr, offset + start, end, BLOCK, UNROLL, STAGES)
        tl.store(reference_ptr + tl.program_id(0), reference)
        tl.store(log2_ptr + tl.program_id(0), log2_summed)


@triton.jit
def combine_kernel(
    logits_ptr, labels_ptr, loss_ptr, reference_ptr, log2_ptr, vocabulary, parts, BLOCK_PARTS: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    part = tl.arange(0, BLOCK_PARTS)
    at_label = tl.load(logits_ptr + row.to(tl.int64) * vocabulary + tl.load(labels_ptr + row)).to(tl.float32)
    references = tl.load(reference_ptr + row * parts + part, mask=part < parts, other=LOWEST)
    log2s = tl.load(log2_ptr + row * parts + part, mask=part < parts, other=float("-inf"))
    reference = tl.max(references, axis=0)
    log2s += references - reference
    largest = tl.maximum(tl.max(log2s, axis=0), LOWEST)  # the sum of a part can be as large as float32 goes
    log2_summed = largest + tl.log2(tl.sum(tl.exp2(log2s - largest), axis=0))
    tl.store(loss_ptr + row, (reference - at_label * LOG2E + log2_summed) * LN2)


WARPS = 4
UNROLL = 4
"""Vectors of 16 bytes that a lane loads before it computes."""
STAGES = 1
"""Steps under way; above 1 they come by asynchronous copies through shared memory."""
REGISTERS = None
"""A thread's registers at most; fewer let more programs share a multiprocessor."""
ENOUGH_PROGRAMS = 2048
"""Programs that fill the GPU; rows that are fewer are shared."""
LONE_ROWS = 0
"""Up to this many rows, each has a program of 32 warps instead, which saves the second launch."""


def kernel_function(logits, labels):
    logits = logits.contiguous()
    labels = labels.contiguous()
    rows, vocabulary = logits.shape
    loss = torch.empty((rows,), dtype=logits.dtype, device=logits.device)
    lone = rows <= LONE_ROWS
    warps = 32 if lone else WARPS
    block = warps * 32 * 16 // logits.element_size()
    parts = 1 if lone else max(1, min(vocabulary // (block * UNROLL), ENOUGH_PROGRAMS // rows))
    part_size = -(-vocabulary // (parts * 128)) * 128  # whole lines of the cache
    parts = -(-vocabulary // part_size)
    references = torch.empty((rows, parts), dtype=torch.float32, device=logits.device)
    log2s = torch.empty((rows, parts), dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(rows * parts,)](
        logits, labels, loss, references, log2s, vocabulary, parts, part_size,
        WHOLE=parts == 1, BLOCK=block, UNROLL=UNROLL, STAGES=STAGES,
        num_warps=warps, maxnreg=None if lone else REGISTERS,
    )  # fmt: skip
    if parts > 1:
        block_parts = triton.next_power_of_2(parts)
        combine_kernel[(rows,)](
            logits, labels, loss, references, log2s, vocabulary, parts, BLOCK_PARTS=block_parts, num_warps=1
        )
    return loss
