# problem: softmax
# style: two kernels and scratch memory: maxima and sums of pieces, then the quotients

import torch
import triton
import triton.language as tl


@triton.jit
def piece(x_ptr, max_ptr, sum_ptr, cols, pieces, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    lanes = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + lanes, mask=lanes < cols, other=-float("inf"))
    largest = tl.max(x, axis=0)
    tl.store(max_ptr + row * pieces + part, largest)
    tl.store(sum_ptr + row * pieces + part, tl.sum(tl.exp(x - largest), axis=0))


@triton.jit
def quotient(x_ptr, y_ptr, max_ptr, sum_ptr, cols, pieces, BLOCK: tl.constexpr, PIECES: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    p = tl.arange(0, PIECES)
    maxima = tl.load(max_ptr + row * pieces + p, mask=p < pieces, other=-float("inf"))
    sums = tl.load(sum_ptr + row * pieces + p, mask=p < pieces, other=0.0)
    largest = tl.max(maxima, axis=0)
    total = tl.sum(sums * tl.exp(maxima - largest), axis=0)
    lanes = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + lanes, mask=lanes < cols, other=0.0)
    tl.store(y_ptr + row * cols + lanes, tl.exp(x - largest) / total, mask=lanes < cols)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    block = 32
    pieces = triton.cdiv(cols, block)
    y = torch.empty_like(x)
    maxima = torch.empty((rows, pieces), device=x.device, dtype=torch.float32)
    sums = torch.empty_like(maxima)
    piece[(rows, pieces)](x, maxima, sums, cols, pieces, BLOCK=block)
    quotient[(rows, pieces)](x, y, maxima, sums, cols, pieces, BLOCK=block, PIECES=triton.next_power_of_2(pieces))
    return y
