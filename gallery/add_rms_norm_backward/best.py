"""RMSNorm of a sum with a residual, and its backward, which reads each gradient once.

Idea: the forward saves one number a row, rstd. With n = total * rstd and h = grad_out * weight the gradient of the
sum is rstd * (h - n * mean(h * n)) + grad_total, and that of weight the sum of grad_out * n over all rows. A program
of the backward takes every PROGRAMS-th tile of rows, keeps weight and its share of the weight's gradient in
registers, and writes that share once; a second kernel adds up the shares. So grad_out and total are read once for
both, and nothing is added atomically: two runs give the same bits. The gradients of x and residual are one tensor, as
autograd's are.
Must move: x, residual and two gradients of outputs read, two outputs and one gradient for both inputs written: 7 *
tokens * width elements. The backward reads the sum again, 8 in all, where it does not fit the L2 cache: at most 87 %
of the bound. The shares are PROGRAMS * width numbers of four bytes, 17 MB written and read beside 1074 MB in the
timed case.
Serves: rows that fit a program's registers, some 16384 elements.
"""

import torch
import triton
import triton.language as tl

SAVED = ("rstd",)


@triton.jit
def forward_kernel(
    x_ptr, residual_ptr, weight_ptr, out_ptr, total_ptr, rstd_ptr, tokens, width, eps,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    inside = (row < tokens)[:, None] & (column < width)[None, :]
    tile = row.to(tl.int64)[:, None] * width + column[None, :]
    total = tl.load(x_ptr + tile, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(residual_ptr + tile, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=column < width, other=0.0).to(tl.float32)
    tl.store(total_ptr + tile, total, mask=inside)
    rstd = tl.rsqrt(tl.sum(total * total, axis=1) / width + eps)
    tl.store(out_ptr + tile, total * rstd[:, None] * weight[None, :], mask=inside)
    tl.store(rstd_ptr + row, rstd, mask=row < tokens)


@triton.jit
def backward_kernel(
    grad_out_ptr, grad_total_ptr, total_ptr, weight_ptr, rstd_ptr, grad_ptr, share_ptr, tokens, width,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, BLOCK)
    weight = tl.load(weight_ptr + column, mask=column < width, other=0.0).to(tl.float32)[None, :]
    share = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in tl.range(tl.program_id(0) * ROWS, tokens, tl.num_programs(0) * ROWS, num_stages=STAGES):
        row = start + tl.arange(0, ROWS)
        inside = (row < tokens)[:, None] & (column < width)[None, :]
        tile = row.to(tl.int64)[:, None] * width + column[None, :]
        total = tl.load(total_ptr + tile, mask=inside, other=0.0).to(tl.float32)
        grad_out = tl.load(grad_out_ptr + tile, mask=inside, other=0.0).to(tl.float32)
        grad = tl.load(grad_total_ptr + tile, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row, mask=row < tokens, other=0.0)[:, None]
        normal = total * rstd
        share += grad_out * normal
        weighted = grad_out * weight
        mean = tl.sum(weighted * normal, axis=1)[:, None] / width
        tl.store(grad_ptr + tile, grad + rstd * (weighted - normal * mean), mask=inside)
    tl.store(share_ptr + tl.program_id(0) * width + column, tl.sum(share, axis=0), mask=column < width)


@triton.jit
def sum_kernel(share_ptr, grad_weight_ptr, shares, width, SHARES: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((SHARES, BLOCK), tl.float32)
    for start in range(0, shares, SHARES):
        share = start + tl.arange(0, SHARES)
        inside = (share < shares)[:, None] & (column < width)[None, :]
        total += tl.load(share_ptr + share[:, None] * width + column[None, :], mask=inside, other=0.0)
    tl.store(grad_weight_ptr + column, tl.sum(total, axis=0), mask=column < width)


TILE = 2048
"""Elements of a tile; where rows are shorter, several are taken at once."""
PROGRAMS = 528
"""Of the backward: four for each of an H200's 132 multiprocessors."""
STAGES = 2


def kernel_function(x, residual, weight, eps):
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    tokens, width = x.shape
    out, total = torch.empty_like(x), torch.empty_like(x)
    rstd = torch.empty((tokens,), dtype=torch.float32, device=x.device)
    BLOCK = triton.next_power_of_2(width)
    ROWS = max(1, TILE // BLOCK)
    forward_kernel[(triton.cdiv(tokens, ROWS),)](
        x, residual, weight, out, total, rstd, tokens, width, eps,
        ROWS=ROWS, BLOCK=BLOCK, num_warps=max(4, min(16, BLOCK // 512)),
    )  # fmt: skip
    return out, total, rstd


def kernel_backward(grad_0, grad_1, output_1, weight, rstd):
    grad_0, grad_1, weight = grad_0.contiguous(), grad_1.contiguous(), weight.contiguous()
    tokens, width = output_1.shape
    BLOCK = triton.next_power_of_2(width)
    ROWS = max(1, TILE // BLOCK)
    programs = min(PROGRAMS, triton.cdiv(tokens, ROWS))
    grad, grad_weight = torch.empty_like(output_1), torch.empty_like(weight)
    shares = torch.empty((programs, width), dtype=torch.float32, device=weight.device)
    backward_kernel[(programs,)](
        grad_0, grad_1, output_1, weight, rstd, grad, shares, tokens, width,
        ROWS=ROWS, BLOCK=BLOCK, STAGES=STAGES, num_warps=max(4, min(16, BLOCK // 512)),
    )  # fmt: skip
    sum_kernel[(triton.cdiv(width, 32),)](shares, grad_weight, programs, width, SHARES=64, BLOCK=32, num_warps=4)
    return grad, grad, grad_weight
