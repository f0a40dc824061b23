"""Matrix-vector product A @ B with a very long shared dimension: 2^31 elements of A, read once."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, A, B):
        return torch.matmul(A, B)


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="2048x1048576_bf16", dtype="bfloat16", M=2048, K=1048576),
    dict(name="1000x100003_fp32", dtype="float32", held_out=True, M=1000, K=100003),
    dict(name="17x40999_fp16", dtype="float16", held_out=True, M=17, K=40999),
    dict(name="5x3001_fp32", dtype="float32", small=True, M=5, K=3001),
    dict(name="3x4500_fp16", dtype="float16", small=True, M=3, K=4500),
]


def get_inputs(M=2048, K=1048576):
    return [torch.randn(M, K), torch.randn(K, 1)]


def get_init_inputs():
    return []
