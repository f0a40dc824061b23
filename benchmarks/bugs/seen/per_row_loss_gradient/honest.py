"""The forward saves each logit's gradient for an upstream gradient of one; the backward scales it."""

import torch
import triton
import triton.language as tl

SAVED = ("unit_grad",)


@triton.jit
def loss_kernel(logits_ptr, labels_ptr, loss_ptr, unit_grad_ptr, vocabulary, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = token * vocabulary
    label = tl.load(labels_ptr + token)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row + column, mask=column < vocabulary, other=float("-inf"))
        largest = tl.maximum(largest, x.to(tl.float32))
    top = tl.max(largest, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row + column, mask=column < vocabulary, other=float("-inf"))
        total += tl.exp(x.to(tl.float32) - top)
    log_total = top + tl.log(tl.sum(total, axis=0))
    counted = label != -100
    picked = tl.load(logits_ptr + row + label, mask=counted, other=0.0).to(tl.float32)
    tl.store(loss_ptr + token, tl.where(counted, log_total - picked, 0.0))
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < vocabulary
        x = tl.load(logits_ptr + row + column, mask=inside, other=float("-inf")).to(tl.float32)
        grad = tl.exp(x - log_total) - tl.where(column == label, 1.0, 0.0)
        tl.store(unit_grad_ptr + row + column, tl.where(counted, grad, 0.0), mask=inside)


@triton.jit
def scale_kernel(unit_grad_ptr, upstream_ptr, out_ptr, vocabulary, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    upstream = tl.load(upstream_ptr + token).to(tl.float32)
    for start in range(0, vocabulary, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < vocabulary
        grad = tl.load(unit_grad_ptr + token * vocabulary + column, mask=inside)
        tl.store(out_ptr + token * vocabulary + column, grad * upstream, mask=inside)


def kernel_function(logits, labels):
    logits, labels = logits.contiguous(), labels.contiguous()
    tokens, vocabulary = logits.shape
    loss = torch.empty((tokens,), dtype=logits.dtype, device=logits.device)
    unit_grad = torch.empty((tokens, vocabulary), dtype=torch.float32, device=logits.device)
    loss_kernel[(tokens,)](logits, labels, loss, unit_grad, vocabulary, BLOCK=1024)
    return loss, unit_grad


def kernel_backward(grad_0, logits, unit_grad):
    grad_0 = grad_0.contiguous()
    tokens, vocabulary = logits.shape
    grad_logits = torch.empty((tokens, vocabulary), dtype=logits.dtype, device=logits.device)
    scale_kernel[(tokens,)](unit_grad, grad_0, grad_logits, vocabulary, BLOCK=1024)
    return grad_logits
