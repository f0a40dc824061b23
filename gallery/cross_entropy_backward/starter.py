"""Cross-entropy of each row and its backward, one program a row.

Idea: the forward saves the logarithm of each row's sum of exponentials. The backward reads the row again: the
gradient of a logit is its probability, less one at the label, times the gradient of the row's loss.
Must move: logits read and their gradient written: 2 * rows * vocabulary elements.
"""

import torch
import triton
import triton.language as tl

SAVED = ("log_sums",)

IGNORED: tl.constexpr = tl.constexpr(-100)  # the label of a row without a loss, as PyTorch has it


@triton.jit
def forward_kernel(logits_ptr, labels_ptr, loss_ptr, log_sum_ptr, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest = tl.full((BLOCK,), -1.0e38, tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * vocabulary + column, mask=column < vocabulary, other=float("-inf"))
        largest = tl.maximum(largest, x.to(tl.float32))
    maximum = tl.max(largest, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * vocabulary + column, mask=column < vocabulary, other=float("-inf"))
        total += tl.exp(x.to(tl.float32) - maximum)
    log_sum = maximum + tl.log(tl.sum(total, axis=0))
    label = tl.load(labels_ptr + row)
    at_label = tl.load(logits_ptr + row * vocabulary + label, mask=label != IGNORED, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, tl.where(label != IGNORED, log_sum - at_label, 0.0))
    tl.store(log_sum_ptr + row, log_sum)


@triton.jit
def backward_kernel(grad_ptr, logits_ptr, labels_ptr, log_sum_ptr, grad_logits_ptr, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    log_sum, label = tl.load(log_sum_ptr + row), tl.load(labels_ptr + row)
    grad = tl.load(grad_ptr + row, mask=label != IGNORED, other=0.0).to(tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < vocabulary
        x = tl.load(logits_ptr + row * vocabulary + column, mask=inside, other=float("-inf")).to(tl.float32)
        found = grad * (tl.exp(x - log_sum) - tl.where(column == label, 1.0, 0.0))
        tl.store(grad_logits_ptr + row * vocabulary + column, found, mask=inside)


def kernel_function(logits, labels):
    logits, labels = logits.contiguous(), labels.contiguous()
    rows, vocabulary = logits.shape
    loss = torch.empty((rows,), dtype=logits.dtype, device=logits.device)
    log_sums = torch.empty((rows,), dtype=torch.float32, device=logits.device)
    forward_kernel[(rows,)](logits, labels, loss, log_sums, vocabulary, BLOCK=1024)
    return loss, log_sums


def kernel_backward(grad_0, logits, labels, log_sums):
    grad_0, logits, labels = grad_0.contiguous(), logits.contiguous(), labels.contiguous()
    rows, vocabulary = logits.shape
    grad_logits = torch.empty_like(logits)
    backward_kernel[(rows,)](grad_0, logits, labels, log_sums, grad_logits, vocabulary, BLOCK=1024)
    return grad_logits
