"""Cross-entropy, one program per row.

Idea: walk the row twice in blocks, for its maximum and for the sum of exponentials; the loss is the logarithm of that
sum, plus the maximum, minus the label's logit.
Must move: rows * vocabulary elements once (the second walk comes from cache where the row fits); about 4 FLOP each.
"""

import torch
import triton
import triton.language as tl

IGNORED: tl.constexpr = tl.constexpr(-100)  # the label of a row without a loss, as PyTorch has it


@triton.jit
def cross_entropy_kernel(logits_ptr, labels_ptr, loss_ptr, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_ptr + row * vocabulary + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, x)
    row_max = tl.max(largest, axis=0)

    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lanes < vocabulary
        x = tl.load(logits_ptr + row * vocabulary + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        total += tl.exp(x - row_max)
    label = tl.load(labels_ptr + row)
    counts = label != IGNORED
    at_label = tl.load(logits_ptr + row * vocabulary + label, mask=counts, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, tl.where(counts, tl.log(tl.sum(total, axis=0)) + row_max - at_label, 0.0))


def kernel_function(logits, labels):
    logits = logits.contiguous()
    labels = labels.contiguous()
    rows, vocabulary = logits.shape
    loss = torch.empty((rows,), dtype=logits.dtype, device=logits.device)
    cross_entropy_kernel[(rows,)](logits, labels, loss, vocabulary, BLOCK=1024, num_warps=4)
    return loss
