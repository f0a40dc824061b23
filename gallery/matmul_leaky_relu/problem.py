"""Matrix product with a leaky ReLU behind it: leaky_relu(A @ B, 0.01), in half precision, square and large."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, A, B):
        return F.leaky_relu(torch.matmul(A, B), negative_slope=0.01)


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="4096_fp16", dtype="float16", M=4096, N=4096, K=4096),
    dict(name="8192_fp16", dtype="float16", M=8192, N=8192, K=8192),
    dict(name="4096_bf16", dtype="bfloat16", held_out=True, M=4096, N=4096, K=4096),
    dict(name="1000x777x1501_fp16", dtype="float16", held_out=True, M=1000, N=777, K=1501),
    dict(name="515x260x129_fp32", dtype="float32", held_out=True, M=515, N=260, K=129),
    dict(name="70x50x90_fp32", dtype="float32", small=True, M=70, N=50, K=90),
    dict(name="150x130x65_fp16", dtype="float16", small=True, M=150, N=130, K=65),
]


def get_inputs(M=4096, N=4096, K=4096):
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
