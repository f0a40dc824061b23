"""Softmax over the last dimension of a matrix, from short rows to rows longer than any block."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


SHAPES = [
    (128, 128), (8192, 128), (65536, 256), (1024, 512), (4096, 1024), (32768, 1024), (2048, 2048), (16384, 2000),
    (4096, 4096), (1024, 8192), (1024, 16384), (512, 32768), (1024, 65536), (128, 131072),
]  # fmt: skip
"""Each in both dtypes: from what a launch dwarfs to a quarter of a gigabyte, many short rows and few long ones."""
TIMED = ["4096x4096_fp32", "4096x4096_bf16", "1024x16384_bf16", "65536x256_bf16"]
"""What a search scores; the others are held out."""


def _case(rows, cols, dtype, short, **marks):
    name = f"{rows}x{cols}_{short}"
    held_out = {} if name in TIMED or marks else {"held_out": True}
    return dict(name=name, dtype=dtype, rows=rows, cols=cols, **held_out, **marks)


LIBRARY = "none"  # own kernels only

CASES = [
    *[_case(rows, cols, "float32", "fp32") for rows, cols in SHAPES],
    *[_case(rows, cols, "bfloat16", "bf16") for rows, cols in SHAPES],
    _case(1000, 5003, "float32", "fp32"),
    _case(77, 20001, "float16", "fp16"),
    _case(300, 33001, "float16", "fp16"),
    _case(1, 3, "float32", "fp32"),
    _case(33, 70, "float32", "fp32", small=True),
    _case(3, 2500, "float32", "fp32", small=True),
    _case(4, 1000, "float16", "fp16", small=True),
]


def get_inputs(rows=4096, cols=4096):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []


def work(rows, cols):
    """Per element a comparison, a subtraction, an exponential, an addition and a division."""
    return {"flop": 5 * rows * cols}
