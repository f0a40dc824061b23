"""The backward of a gated causal convolution of four taps, as far as the gated values' gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """grad, gate: (tokens, channels); taps: (4, channels). Token t gets what the gated tokens t to t + 3 hold."""

    def forward(self, grad, gate, taps):
        gated = grad * gate
        later = [F.pad(gated, (0, 0, 0, shift))[shift:] for shift in range(4)]
        return sum(taps[shift] * later[shift] for shift in range(4))


CASES = [
    dict(name="8192x2048_bf16", dtype="bfloat16", tokens=8192, channels=2048),
    dict(name="3001x1000_fp32", dtype="float32", held_out=True, tokens=3001, channels=1000),
    dict(name="small_fp32", dtype="float32", small=True, tokens=11, channels=40),
]


def get_inputs(tokens=8192, channels=2048):
    return [torch.randn(tokens, channels), torch.randn(tokens, channels), torch.randn(4, channels)]


def get_init_inputs():
    return []
