"""Cross-entropy of each row and its backward, three passes over the logits' memory in all.

Idea: the forward reads a row once. Each lane keeps its own maximum and the sum of 2 ** ((x - maximum) * log2(e)),
and rescales that sum once for UNROLL elements, so that no lane waits for another and an element costs little more
than one exp2. It saves the row's maximum and log2 of the sum: one number for both, log2(e) * maximum + log2(sum),
would be off by 3e-5 at logits of 440, and every probability with it. The backward is elementwise: the gradient of a
logit is its probability, less one at the label, times the gradient of the row's loss. It runs over all rows as one
stretch of memory in blocks no longer than a row, so that a block meets at most two rows and its vectors are whole and
aligned for any vocabulary. Saving the gradient in the forward instead moves more: written, read, scaled and written
again.
Must move: logits read and their gradient written, 2 * rows * vocabulary elements. The backward reads the logits a
second time, 3 in all, where they do not fit the L2 cache: at most 67 % of the bound.
"""

import torch
import triton
import triton.language as tl

SAVED = ("maxima", "log2_sums")

LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)
LN2: tl.constexpr = tl.constexpr(0.6931471805599453)
IGNORED: tl.constexpr = tl.constexpr(-100)  # the label of a row without a loss, as PyTorch has it
LOWEST: tl.constexpr = tl.constexpr(-1.0e38)  # a maximum has to be finite: -inf minus -inf would be NaN


@triton.jit
def add_tile(largest, total, x):
    """Take a tile of (UNROLL, BLOCK) logits into the maximum and the sum of each lane."""
    x = x.to(tl.float32)
    larger = tl.maximum(largest, tl.max(x, axis=0))
    grown = tl.sum(tl.exp2((x - larger[None, :]) * LOG2E), axis=0)
    return larger, total * tl.exp2((largest - larger) * LOG2E) + grown


@triton.jit
def forward_kernel(
    logits_ptr, labels_ptr, loss_ptr, maximum_ptr, log2_sum_ptr, vocabulary,
    ALIGNED: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    STEP: tl.constexpr = BLOCK * UNROLL
    row = tl.program_id(0)
    begin = row.to(tl.int64) * vocabulary
    label = tl.load(labels_ptr + row)
    at_label = tl.load(logits_ptr + begin + label, mask=label != IGNORED, other=0.0).to(tl.float32)
    # Tiles begin at a multiple of 16 elements, before the row where it does not; only the first and last are masked.
    skipped = 0 if ALIGNED else (begin % 16).to(tl.int32)
    tiles = logits_ptr + tl.multiple_of(begin - skipped, 16)
    end = skipped + vocabulary
    place = tl.arange(0, UNROLL)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    largest, total = tl.full((BLOCK,), LOWEST, tl.float32), tl.zeros((BLOCK,), tl.float32)
    first = tl.load(tiles + place, mask=(place >= skipped) & (place < end), other=float("-inf"))
    largest, total = add_tile(largest, total, first)
    last = STEP + tl.maximum(end - STEP, 0) // STEP * STEP
    for start in tl.range(STEP, last, STEP, num_stages=STAGES):
        largest, total = add_tile(largest, total, tl.load(tiles + start + place))
    final = tl.load(tiles + last + place, mask=last + place < end, other=float("-inf"))
    largest, total = add_tile(largest, total, final)
    maximum = tl.max(largest, axis=0)
    log2_sum = tl.log2(tl.sum(total * tl.exp2((largest - maximum) * LOG2E), axis=0))
    tl.store(loss_ptr + row, tl.where(label != IGNORED, maximum - at_label + log2_sum * LN2, 0.0))
    tl.store(maximum_ptr + row, maximum)
    tl.store(log2_sum_ptr + row, log2_sum)


@triton.jit
def backward_kernel(
    grad_ptr, logits_ptr, labels_ptr, maximum_ptr, log2_sum_ptr, grad_logits_ptr, rows, vocabulary, n,
    BLOCK: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * BLOCK
    one = start // vocabulary
    other = tl.minimum(one + 1, rows - 1)
    boundary = (one + 1) * vocabulary - start  # from this element of the block on it is the next row
    one_label, other_label = tl.load(labels_ptr + one), tl.load(labels_ptr + other)
    one_maximum, other_maximum = tl.load(maximum_ptr + one), tl.load(maximum_ptr + other)
    one_sum, other_sum = tl.load(log2_sum_ptr + one), tl.load(log2_sum_ptr + other)
    one_grad = tl.load(grad_ptr + one, mask=one_label != IGNORED, other=0.0).to(tl.float32)
    other_grad = tl.load(grad_ptr + other, mask=other_label != IGNORED, other=0.0).to(tl.float32)
    i = tl.arange(0, BLOCK)
    in_one = i < boundary
    maximum = tl.where(in_one, one_maximum, other_maximum)
    log2_sum = tl.where(in_one, one_sum, other_sum)
    is_label = i == tl.where(in_one, one_label - (vocabulary - boundary), other_label + boundary)
    grad = tl.where(in_one, one_grad, other_grad)
    if start + BLOCK <= n:
        x = tl.load(logits_ptr + start + i).to(tl.float32)
        probability = tl.exp2((x - maximum) * LOG2E - log2_sum)
        tl.store(grad_logits_ptr + start + i, grad * (probability - tl.where(is_label, 1.0, 0.0)))
    else:
        x = tl.load(logits_ptr + start + i, mask=i < n - start, other=float("-inf")).to(tl.float32)
        probability = tl.exp2((x - maximum) * LOG2E - log2_sum)
        tl.store(grad_logits_ptr + start + i, grad * (probability - tl.where(is_label, 1.0, 0.0)), mask=i < n - start)


WARPS = 4
UNROLL = 4
"""Vectors of 16 bytes that a lane loads before it computes."""
STAGES = 3
"""Tiles under way in the forward."""
BACKWARD_BLOCK = 4096


def kernel_function(logits, labels):
    logits, labels = logits.contiguous(), labels.contiguous()
    rows, vocabulary = logits.shape
    loss = torch.empty((rows,), dtype=logits.dtype, device=logits.device)
    maxima = torch.empty((rows,), dtype=torch.float32, device=logits.device)
    log2_sums = torch.empty_like(maxima)
    forward_kernel[(rows,)](
        logits, labels, loss, maxima, log2_sums, vocabulary,
        ALIGNED=vocabulary % 16 == 0, BLOCK=WARPS * 32 * 16 // logits.element_size(), UNROLL=UNROLL, STAGES=STAGES,
        num_warps=WARPS,
    )  # fmt: skip
    return loss, maxima, log2_sums


def kernel_backward(grad_0, logits, labels, maxima, log2_sums):
    grad_0, logits, labels = grad_0.contiguous(), logits.contiguous(), labels.contiguous()
    rows, vocabulary = logits.shape
    grad_logits = torch.empty_like(logits)
    n = rows * vocabulary
    block = min(BACKWARD_BLOCK, triton.next_power_of_2(vocabulary + 1) // 2)  # no longer than a row
    backward_kernel[(triton.cdiv(n, block),)](
        grad_0, logits, labels, maxima, log2_sums, grad_logits, rows, vocabulary, n, BLOCK=block, num_warps=WARPS
    )
    return grad_logits
