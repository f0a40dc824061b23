# problem: linear
# style: nn.Linear holds the parameters; the weight is read by its strides

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, rows, given, taken,
    stride_xm, stride_xk, stride_wn, stride_wk, stride_ym, stride_yn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, taken, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + m[:, None] * stride_xm + k[None, :] * stride_xk,
            mask=(m[:, None] < rows) & (k[None, :] < taken), other=0.0,
        )  # fmt: skip
        w = tl.load(
            w_ptr + n[None, :] * stride_wn + k[:, None] * stride_wk,
            mask=(n[None, :] < given) & (k[:, None] < taken), other=0.0,
        )  # fmt: skip
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + n, mask=n < given, other=0.0)[None, :]
    inside = (m[:, None] < rows) & (n[None, :] < given)
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :] * stride_yn, acc, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, taken, given):
        super().__init__()
        self.layer = nn.Linear(taken, given)

    def forward(self, x):
        weight, bias = self.layer.weight, self.layer.bias
        rows, taken = x.shape
        given = weight.shape[0]
        y = torch.empty(rows, given, device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(rows, 16), triton.cdiv(given, 16))
        linear_kernel[grid](
            x, weight, bias, y, rows, given, taken, *x.stride(), *weight.stride(), *y.stride(),
            BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
        )  # fmt: skip
        return y
