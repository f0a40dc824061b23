# problem: relu_bias
# style: the activation is a kernel passed as a constant; a helper kernel calls it

import torch
import triton
import triton.language as tl


@triton.jit
def relu(x):
    return tl.where(x < 0, 0.0, x)


@triton.jit
def activated(x, bias, activation: tl.constexpr):
    return activation(x) + bias


@triton.jit
def rowwise(x_ptr, bias_ptr, y_ptr, cols, activation: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in tl.range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + c, mask=c < cols)
        b = tl.load(bias_ptr + c, mask=c < cols)
        tl.store(y_ptr + row * cols + c, activated(x, b, activation), mask=c < cols)


def kernel_function(x, bias):
    x = x.contiguous()
    y = torch.empty_like(x)
    rowwise[(x.shape[0],)](x, bias, y, x.shape[1], activation=relu, BLOCK=32)
    return y
