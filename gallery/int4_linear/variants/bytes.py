"""A linear layer with 4-bit weights, one program per BLOCK_OUT outputs and stretch of the columns.

Idea: weights are unpacked in registers and never written. A number n of 4 bits becomes a float by one bit operation,
2^23 + n, and one exact subtraction. Even and odd columns are separate products, so that the two halves of a byte need
not be brought into one order; a block of columns is one group, so a scale is applied to sums. To have enough bytes
under way, programs share the columns of an output, and a second, small kernel adds their sums in a fixed order.
Must move: out_features * in_features / 2 bytes of weights, nothing else of weight while tokens are few.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def as_float(numbers):
    """Whole numbers below 16, minus 8."""
    return (numbers.to(tl.int32) | 0x4B000000).to(tl.float32, bitcast=True) - 8388616.0  # 2^23 + 8


@triton.jit
def int4_linear_kernel(
    x_ptr, packed_ptr, scales_ptr, out_ptr, tokens, in_features, out_features, groups, groups_each,
    GROUP: tl.constexpr, BLOCK_TOKENS: tl.constexpr, BLOCK_OUT: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    out = tl.program_id(0) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    token = tl.program_id(1) * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
    split = tl.program_id(2)
    half = tl.arange(0, GROUP // 2)
    nearest = tl.minimum(out, out_features - 1)  # outputs outside read the last and are not stored
    packed_row = packed_ptr + nearest[:, None] * (in_features // 2) + half[None, :]
    scales_row = scales_ptr + nearest * groups
    present = (token < tokens)[:, None, None]
    pairs = 2 * half[None, :, None] + tl.arange(0, 2)[None, None, :]
    x_row = x_ptr + token[:, None, None] * in_features + pairs
    acc = tl.zeros((BLOCK_OUT, BLOCK_TOKENS), tl.float32)
    first = split * groups_each
    for group in tl.range(first, tl.minimum(first + groups_each, groups), num_stages=STAGES):
        packed = tl.load(packed_row + group * (GROUP // 2))
        scale = tl.load(scales_row + group).to(tl.float32)
        even, odd = tl.split(tl.load(x_row + group * GROUP, mask=present, other=0.0))
        low = as_float(packed & 15).to(x_ptr.dtype.element_ty)
        high = as_float(packed >> 4).to(x_ptr.dtype.element_ty)
        sums = tl.dot(low, tl.trans(even), input_precision="ieee")
        sums = tl.dot(high, tl.trans(odd), sums, input_precision="ieee")
        acc += sums * scale[:, None]
    inside = (token < tokens)[None, :] & (out < out_features)[:, None]
    out_rows = (split * tokens + token)[None, :] * out_features + out[:, None]
    tl.store(out_ptr + out_rows, acc.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def add_kernel(parts_ptr, out_ptr, count, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for split in tl.static_range(SPLITS):
        total += tl.load(parts_ptr + split * count + at, mask=at < count, other=0.0)
    tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=at < count)


def kernel_function(x, packed, scales):
    x = x.contiguous()
    packed = packed.contiguous()
    scales = scales.contiguous()
    tokens, in_features = x.shape
    out_features = packed.shape[0]
    groups = scales.shape[1]
    # Many sums to a program reuse x; where they are few, the bytes under way matter more.
    BLOCK_OUT, SPLITS, WARPS = (64, 2, 4) if tokens * out_features >= 1 << 17 else (32, 8, 2)
    out = torch.empty((tokens, out_features), dtype=x.dtype, device=x.device)
    splits = min(SPLITS, groups)
    parts = torch.empty((splits, tokens, out_features), dtype=torch.float32, device=x.device) if splits > 1 else out
    block_tokens = min(max(16, triton.next_power_of_2(tokens)), 64)
    grid = (triton.cdiv(out_features, BLOCK_OUT), triton.cdiv(tokens, block_tokens), splits)
    int4_linear_kernel[grid](
        x, packed, scales, parts, tokens, in_features, out_features, groups, triton.cdiv(groups, splits),
        GROUP=in_features // groups, BLOCK_TOKENS=block_tokens, BLOCK_OUT=BLOCK_OUT, STAGES=1, num_warps=WARPS,
    )  # fmt: skip
    if splits > 1:
        count = tokens * out_features
        add_kernel[(triton.cdiv(count, 1024),)](parts, out, count, SPLITS=splits, BLOCK=1024, num_warps=4)
    return out
