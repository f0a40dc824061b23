"""A linear layer with 4-bit weights, one program per BLOCK_OUT outputs of up to BLOCK_TOKENS tokens.

Idea: weights are unpacked in registers and never written; even and odd columns are separate products, so that the two
halves of a byte need not be brought into one order. A block of columns is one group, so a scale is applied to sums.
Must move: out_features * in_features / 2 bytes of weights, nothing else of weight while tokens are few.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def int4_linear_kernel(
    x_ptr, packed_ptr, scales_ptr, out_ptr, tokens, in_features, out_features,
    GROUP: tl.constexpr, BLOCK_TOKENS: tl.constexpr, BLOCK_OUT: tl.constexpr,
):  # fmt: skip
    out = tl.program_id(0) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    token = tl.program_id(1) * BLOCK_TOKENS + tl.arange(0, BLOCK_TOKENS)
    half = tl.arange(0, GROUP // 2)
    acc = tl.zeros((BLOCK_TOKENS, BLOCK_OUT), tl.float32)
    for group in range(0, in_features // GROUP):
        column = group * GROUP + 2 * half[None, :]
        x = x_ptr + token[:, None] * in_features + column
        even = tl.load(x, mask=(token < tokens)[:, None], other=0.0)
        odd = tl.load(x + 1, mask=(token < tokens)[:, None], other=0.0)
        byte = group * (GROUP // 2) + half[:, None]
        packed = tl.load(packed_ptr + out[None, :] * (in_features // 2) + byte, mask=(out < out_features)[None, :])
        low = ((packed & 15).to(tl.float32) - 8.0).to(x_ptr.dtype.element_ty)
        high = ((packed >> 4).to(tl.float32) - 8.0).to(x_ptr.dtype.element_ty)
        scale = tl.load(scales_ptr + out * (in_features // GROUP) + group, mask=out < out_features, other=0.0)
        sums = tl.dot(even, low, input_precision="ieee")
        sums = tl.dot(odd, high, sums, input_precision="ieee")
        acc += sums * scale.to(tl.float32)[None, :]
    inside = (token < tokens)[:, None] & (out < out_features)[None, :]
    tl.store(out_ptr + token[:, None] * out_features + out[None, :], acc, mask=inside)


def kernel_function(x, packed, scales):
    x = x.contiguous()
    packed = packed.contiguous()
    scales = scales.contiguous()
    tokens, in_features = x.shape
    out_features = packed.shape[0]
    out = torch.empty((tokens, out_features), dtype=x.dtype, device=x.device)
    BLOCK_TOKENS = 16
    BLOCK_OUT = 64
    grid = (triton.cdiv(out_features, BLOCK_OUT), triton.cdiv(tokens, BLOCK_TOKENS))
    int4_linear_kernel[grid](
        x, packed, scales, out, tokens, in_features, out_features,
        GROUP=in_features // scales.shape[1], BLOCK_TOKENS=BLOCK_TOKENS, BLOCK_OUT=BLOCK_OUT, num_warps=4,
    )  # fmt: skip
    return out
