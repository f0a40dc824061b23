"""Softmax over the last dimension of a matrix, from short rows to rows longer than any block."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


CASES = [
    dict(name="4096x4096_fp32", dtype="float32", rows=4096, cols=4096),
    dict(name="4096x4096_bf16", dtype="bfloat16", rows=4096, cols=4096),
    dict(name="1024x16384_bf16", dtype="bfloat16", rows=1024, cols=16384),
    dict(name="65536x256_bf16", dtype="bfloat16", rows=65536, cols=256),
    dict(name="128x131072_bf16", dtype="bfloat16", held_out=True, rows=128, cols=131072),
    dict(name="4096x1024_fp32", dtype="float32", held_out=True, rows=4096, cols=1024),
    dict(name="1000x5003_fp32", dtype="float32", held_out=True, rows=1000, cols=5003),
    dict(name="77x20001_fp16", dtype="float16", held_out=True, rows=77, cols=20001),
    dict(name="1x3_fp32", dtype="float32", held_out=True, rows=1, cols=3),
    dict(name="33x70_fp32", dtype="float32", small=True, rows=33, cols=70),
    dict(name="3x2500_fp32", dtype="float32", small=True, rows=3, cols=2500),
    dict(name="4x1000_fp16", dtype="float16", small=True, rows=4, cols=1000),
]


def get_inputs(rows=4096, cols=4096):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
