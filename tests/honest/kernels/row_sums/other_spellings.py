"""The language by the names of its parts, a kernel with a second name, a dtype that the compiler picks."""

import functools

import torch
import triton
import triton.language as tl
import triton.language.core as core
from triton.language.standard import _log2, zeros_like

torch.manual_seed(0)


@tl.constexpr
def sum_type(dtype: tl.dtype) -> tl.dtype:
    if dtype.is_fp16() or dtype.is_bf16():
        return tl.float32
    if dtype.is_int():
        return tl.int64
    return tl.float32


@triton.jit
def halved(x, HALF: core.constexpr):
    left, right = core.split(core.permute(core.reshape(x, (2, HALF)), (1, 0)))
    return left + right


fold = halved


def ones(text: str) -> float:
    return float(sum(character == "1" for character in text))


UNIT: tl.constexpr = tl.constexpr(ones("0100"))


@triton.jit
def row_sums(out_ptr, x_ptr, rows, columns, BLOCK: core.constexpr):
    tl.static_print("columns in a block", BLOCK)
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, columns, BLOCK):
        lanes = start + core.arange(0, BLOCK)
        x = core.load(x_ptr + row * columns + lanes, mask=lanes < columns, other=0.0)
        x = x.to(sum_type(x_ptr.dtype.element_ty))
        x += zeros_like(x) * _log2(BLOCK)
        total += tl.sum(fold(x, BLOCK // 2), axis=0)
    core.store(out_ptr + row, total * UNIT)


@functools.cache
def block(columns: int) -> int:
    return min(triton.next_power_of_2(columns), 256)


def kernel_function(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sums[(rows,)](out, x, rows, columns, BLOCK=block(columns))
    return out
