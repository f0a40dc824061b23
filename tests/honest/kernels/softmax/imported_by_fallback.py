"""A function of Triton's language that two versions have in two places, for a function that the kernel calls."""

import torch
import triton
import triton.language as tl

try:
    from triton.language.extra.cuda.math import exp2 as _exp2
except ImportError:
    try:
        from triton.language.math import exp2 as _exp2
    except ImportError:
        from triton.language.libdevice import exp2 as _exp2


@triton.jit
def power(x):
    return _exp2(x.to(tl.float32) * 1.4426950408889634)


@triton.jit
def softmax_rows(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * columns + column
    x = tl.load(x_ptr + place, mask=column < columns, other=-float("inf"))
    part = power(x - tl.max(x, axis=0))
    tl.store(out_ptr + place, part / tl.sum(part, axis=0), mask=column < columns)


def kernel_function(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    softmax_rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
