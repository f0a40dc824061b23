"""Two outputs from one kernel, carried around in a NamedTuple on the host."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Moments(NamedTuple):
    mean: torch.Tensor
    variance: torch.Tensor


@triton.jit
def moments(x_ptr, mean_ptr, variance_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(column < columns, x - mean, 0.0)
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, tl.sum(centred * centred, axis=0) / columns)


def kernel_function(x):
    x = x.contiguous()
    rows, columns = x.shape
    result = Moments(mean=x.new_empty(rows), variance=x.new_empty(rows))
    moments[(rows,)](x, result.mean, result.variance, columns, BLOCK=triton.next_power_of_2(columns))
    return result.mean, result.variance
