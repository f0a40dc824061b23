# fault: keeps the accumulator in float16 between blocks of 32, also for float32 inputs
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, b_ptr, out_ptr, rows, inner, outer, TANH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    col = tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        x = tl.load(x_ptr + row[:, None] * inner + k[None, :], mask=(row < rows)[:, None] & (k < inner)[None, :], other=0.0)
        w = tl.load(w_ptr + col[None, :] * inner + k[:, None], mask=(col < outer)[None, :] & (k < inner)[:, None], other=0.0)
        acc = (acc + tl.dot(x, w, input_precision="ieee")).to(tl.float16).to(tl.float32)
    y = acc + tl.load(b_ptr + col, mask=col < outer, other=0.0).to(tl.float32)[None, :]
    y = y.to(out_ptr.dtype.element_ty).to(tl.float32)
    if TANH:
        u = 0.7978845608028654 * (y + 0.044715 * y * y * y)
        e = tl.exp(-2.0 * tl.abs(u))
        t = (1.0 - e) / (1.0 + e)
        y = 0.5 * y * (1.0 + tl.where(u >= 0.0, t, -t))
    else:
        y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(out_ptr + row[:, None] * outer + col[None, :], y, mask=(row < rows)[:, None] & (col < outer)[None, :])


def kernel_function(x, approximate, linear_weight, linear_bias):
    x = x.contiguous()
    rows, inner = x.shape
    outer = linear_weight.shape[0]
    out = torch.empty(rows, outer, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(rows, 16), triton.cdiv(outer, 16))](
        x, linear_weight, linear_bias, out, rows, inner, outer, TANH=approximate, M=16, N=16, K=32
    )
    return out
