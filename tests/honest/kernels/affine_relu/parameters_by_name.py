"""A function that takes the reference's parameters by name, with helpers, type hints and error messages."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK_ROWS = 2
BLOCK_COLUMNS = 32


@triton.jit
def affine_relu_2d(
    x_ptr,
    weight_ptr,
    bias_ptr,
    shift_ptr,
    out_ptr,
    rows,
    features,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < rows) & (column < features)
    at = row * features + column
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=column < features, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + column, mask=column < features, other=0.0).to(tl.float32)
    shift = tl.load(shift_ptr + column, mask=column < features, other=0.0).to(tl.float32)
    value = x * weight + bias - shift
    tl.store(out_ptr + at, tl.where(value > 0, value, 0.0).to(out_ptr.dtype.element_ty), mask=inside)


def _check(x: torch.Tensor, weight: torch.Tensor) -> tuple[int, int]:
    """Rows and features of `x`."""
    if x.dim() != 2:
        raise ValueError(f"x has {x.dim()} dimensions, 2 were expected")
    rows, features = x.shape
    if weight.numel() != features:
        raise ValueError(f"weight has {weight.numel()} elements for {features} features")
    return rows, features


def _launch_grid(rows: int, features: int) -> tuple[int, int]:
    return triton.cdiv(features, BLOCK_COLUMNS), triton.cdiv(rows, BLOCK_ROWS)


def kernel_function(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    rows, features = _check(x, weight)
    source = x if x.is_contiguous() else x.contiguous()
    out = torch.empty((rows, features), dtype=x.dtype, device=x.device)
    with torch.cuda.device(x.device):
        affine_relu_2d[_launch_grid(rows, features)](
            source, weight, bias, shift, out, rows, features, ROWS=BLOCK_ROWS, COLUMNS=BLOCK_COLUMNS
        )
    return out
