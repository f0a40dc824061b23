"""RMSNorm of a sum with a residual, and its backward: a row a program, and a third kernel for the weight's gradient.

Idea: the forward saves one number a row. With n = total * rstd and h = grad_out * weight the gradient of the sum is
rstd * (h - n * mean(h * n)) + grad_total, for x and residual alike, and that of weight the sum of grad_out * n over
rows.
Must move: x, residual and two gradients of outputs read, two outputs and one gradient for both inputs written.
"""

import torch
import triton
import triton.language as tl

SAVED = ("rstd",)


@triton.jit
def forward_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, total_ptr, rstd_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(x_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    total = x + tl.load(residual_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(total * total, axis=0) / width + eps)
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * width + column, total * rstd * weight, mask=inside)
    tl.store(total_ptr + row * width + column, total, mask=inside)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def backward_kernel(
    grad_out_ptr, grad_total_ptr, total_ptr, weight_ptr, rstd_ptr, grad_ptr, width, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    normal = tl.load(total_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal *= rstd
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float32)
    weighted = tl.load(grad_out_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32) * weight
    grad = tl.load(grad_total_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    grad += rstd * (weighted - normal * (tl.sum(weighted * normal, axis=0) / width))
    tl.store(grad_ptr + row * width + column, grad, mask=inside)


@triton.jit
def weight_kernel(
    grad_out_ptr, total_ptr, rstd_ptr, grad_weight_ptr, tokens, width, ROWS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    found = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, tokens, ROWS):
        row = (start + tl.arange(0, ROWS)[:, None]).to(tl.int64)
        inside = (row < tokens) & (column < width)
        total = tl.load(total_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
        grad = tl.load(grad_out_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
        found += grad * total * tl.load(rstd_ptr + row, mask=row < tokens, other=0.0)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(grad_weight_ptr + place, tl.sum(found, axis=0), mask=place < width)


def kernel_function(x, residual, weight, eps):
    x, residual = x.contiguous(), residual.contiguous()
    tokens, width = x.shape
    out, total = torch.empty_like(x), torch.empty_like(x)
    rstd = torch.empty((tokens,), dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(width)
    forward_kernel[(tokens,)](x, residual, weight, out, total, rstd, width, eps, BLOCK=BLOCK)
    return out, total, rstd


def kernel_backward(grad_0, grad_1, output_1, weight, rstd):
    grad_0, grad_1 = grad_0.contiguous(), grad_1.contiguous()
    tokens, width = output_1.shape
    grad_x, grad_weight = torch.empty_like(output_1), torch.empty_like(weight)
    BLOCK = triton.next_power_of_2(width)
    backward_kernel[(tokens,)](grad_0, grad_1, output_1, weight, rstd, grad_x, width, BLOCK=BLOCK)
    ROWS = 32
    COLUMNS = 32
    grid = (triton.cdiv(width, COLUMNS),)
    weight_kernel[grid](grad_0, output_1, rstd, grad_weight, tokens, width, ROWS=ROWS, BLOCK=COLUMNS)
    return grad_x, grad_x, grad_weight
