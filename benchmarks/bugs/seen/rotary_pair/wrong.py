# The rotated values overwrite the inputs: github.com/unslothai/unsloth/issues/5001
"""Rotates one token of one head per program."""

import triton
import triton.language as tl


@triton.jit
def rotate_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, tokens, HALF: tl.constexpr):
    token, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    lanes = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + lanes).to(tl.float32)
    sin = tl.load(sin_ptr + token * HALF + lanes).to(tl.float32)
    place = (head * tokens + token) * 2 * HALF + lanes
    first = tl.load(x_ptr + place).to(tl.float32)
    second = tl.load(x_ptr + place + HALF).to(tl.float32)
    tl.store(out_ptr + place, first * cos - second * sin)
    tl.store(out_ptr + place + HALF, second * cos + first * sin)


def rotate(x, cos, sin):
    x = x.contiguous()
    batch, heads, tokens, dim = x.shape
    rotate_kernel[(tokens, batch * heads)](x, cos, sin, x, tokens, HALF=dim // 2)
    return x


def kernel_function(q, k, cos, sin):
    cos, sin = cos.contiguous(), sin.contiguous()
    return rotate(q, cos, sin), rotate(k, cos, sin)
