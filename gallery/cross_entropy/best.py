"""Cross-entropy that reads the logits once, a row or a part of one per program.

Idea: a lane keeps the maximum of what it has seen and the sum of exp(x - maximum), and takes UNROLL values of x at a
time, so that correcting its sum for a new maximum costs one more exponential for UNROLL values and not for each. The
lanes are combined at the end. Where there are too few rows to fill the GPU, programs share a row, and a second,
tiny kernel combines the parts.
Must move: rows * vocabulary elements once; about 4 FLOP and one exponential each.
Reaches 83 % of the limit on 4096x128256 in bfloat16: 271 µs on an H200, 2.5 times PyTorch's faster one (bench).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def lanes_maximum_and_sum(x_row, start, end, BLOCK: tl.constexpr, UNROLL: tl.constexpr, ALIGNED: tl.constexpr):
    """Over a stretch of a row, the maximum of each lane and its sum of exp(x - maximum)."""
    column = tl.arange(0, UNROLL)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    largest = tl.full((BLOCK,), -1.0e38, tl.float32)  # finite: minus itself it is 0, and no logit is below it by much
    total = tl.zeros((BLOCK,), tl.float32)
    if ALIGNED:
        start = tl.multiple_of(start, 16)
    for at in range(start, end, UNROLL * BLOCK):
        x = tl.load(x_row + at + column, mask=at + column < end, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(x - larger[None, :]), axis=0)
        largest = larger
    return largest, total


@triton.jit
def cross_entropy_kernel(
    logits_ptr, labels_ptr, loss_ptr, max_ptr, sum_ptr, vocabulary, parts, part_size,
    WHOLE: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) // parts).to(tl.int64)
    start = tl.program_id(0) % parts * part_size
    x_row = logits_ptr + row * vocabulary
    largest, total = lanes_maximum_and_sum(x_row, start, tl.minimum(start + part_size, vocabulary), BLOCK, UNROLL, True)
    row_max = tl.max(largest, axis=0)
    row_sum = tl.sum(total * tl.exp(largest - row_max), axis=0)
    if WHOLE:
        at_label = tl.load(x_row + tl.load(labels_ptr + row)).to(tl.float32)
        tl.store(loss_ptr + row, tl.log(row_sum) + row_max - at_label)
    else:
        tl.store(max_ptr + tl.program_id(0), row_max)
        tl.store(sum_ptr + tl.program_id(0), row_sum)


@triton.jit
def combine_kernel(
    logits_ptr, labels_ptr, loss_ptr, max_ptr, sum_ptr, vocabulary, parts, BLOCK_PARTS: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    part = tl.arange(0, BLOCK_PARTS)
    maxima = tl.load(max_ptr + row * parts + part, mask=part < parts, other=float("-inf"))
    sums = tl.load(sum_ptr + row * parts + part, mask=part < parts, other=0.0)
    row_max = tl.max(maxima, axis=0)
    row_sum = tl.sum(sums * tl.exp(maxima - row_max), axis=0)
    at_label = tl.load(logits_ptr + row.to(tl.int64) * vocabulary + tl.load(labels_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(row_sum) + row_max - at_label)


BLOCK = 1024
UNROLL = 4
ENOUGH_BLOCKS = 1024
"""Programs that fill the GPU."""


def kernel_function(logits, labels):
    logits = logits.contiguous()
    labels = labels.contiguous()
    rows, vocabulary = logits.shape
    loss = torch.empty((rows,), dtype=logits.dtype, device=logits.device)
    step = BLOCK * UNROLL
    warps = BLOCK // 256 if logits.element_size() == 2 else BLOCK // 128  # a lane reads 16 bytes at a time
    parts = max(1, min(triton.cdiv(vocabulary, step), ENOUGH_BLOCKS // rows))
    part_size = triton.cdiv(triton.cdiv(vocabulary, parts), step) * step
    parts = triton.cdiv(vocabulary, part_size)
    maxima = torch.empty((rows, parts), dtype=torch.float32, device=logits.device)
    sums = torch.empty((rows, parts), dtype=torch.float32, device=logits.device)
    cross_entropy_kernel[(rows * parts,)](
        logits, labels, loss, maxima, sums, vocabulary, parts, part_size,
        WHOLE=parts == 1, BLOCK=BLOCK, UNROLL=UNROLL, num_warps=warps,
    )  # fmt: skip
    if parts > 1:
        block_parts = triton.next_power_of_2(parts)
        combine_kernel[(rows,)](
            logits, labels, loss, maxima, sums, vocabulary, parts, BLOCK_PARTS=block_parts, num_warps=1
        )
    return loss
