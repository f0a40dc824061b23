"""SwiGLU, silu(gate) * up, with its backward: the activation between the products of a transformer's MLP."""

import torch
import torch.nn as nn
import torch.nn.functional as F

GRADIENTS = True


class Model(nn.Module):
    """gate, up, out: (tokens, width)."""

    def forward(self, gate, up):
        return F.silu(gate) * up


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="8192x14336_bf16", dtype="bfloat16", tokens=8192, width=14336),
    dict(name="1000x11008_fp16", dtype="float16", held_out=True, tokens=1000, width=11008),
    dict(name="777x4099_fp32", dtype="float32", held_out=True, tokens=777, width=4099),
    dict(name="7x300_fp32", dtype="float32", small=True, tokens=7, width=300),
    dict(name="3x1001_fp16", dtype="float16", small=True, tokens=3, width=1001),
]


def get_inputs(tokens=8192, width=14336):
    return [torch.randn(tokens, width), torch.randn(tokens, width)]


def get_init_inputs():
    return []
