"""RMS normalisation over the channels of an image batch: the reduced dimension is the strided one."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """x: (batch, features, height, width); each position is divided by the root mean square over its features."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        rms = torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)
        return x / rms


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="112x64x512x512_bf16", dtype="bfloat16", batch=112, features=64, height=512, width=512),
    dict(name="3x37x65x129_fp32", dtype="float32", held_out=True, batch=3, features=37, height=65, width=129),
    dict(name="2x100x101x63_fp16", dtype="float16", held_out=True, batch=2, features=100, height=101, width=63),
    dict(name="2x5x6x7_fp32", dtype="float32", small=True, batch=2, features=5, height=6, width=7),
    dict(name="1x8x31x33_fp16", dtype="float16", small=True, batch=1, features=8, height=31, width=33),
]


def get_inputs(batch=112, features=64, height=512, width=512):
    return [torch.randn(batch, features, height, width)]


def get_init_inputs():
    return [1e-5]


def work(batch, features, height, width):
    """Per element a product, an addition and a division; one mean and root per position do not count."""
    return {"flop": 3 * batch * features * height * width}
