"""Softmax of attention scores that are bounded by a soft cap."""

import torch
import torch.nn as nn

CAP = 50.0


class Model(nn.Module):
    """scores: (rows, keys)."""

    def forward(self, scores):
        return torch.softmax(CAP * torch.tanh(scores / CAP), dim=-1)


CASES = [
    dict(name="16384x4096_bf16", dtype="bfloat16", rows=16384, keys=4096),
    dict(name="1003x777_fp32", dtype="float32", held_out=True, rows=1003, keys=777),
    dict(name="small_fp32", dtype="float32", small=True, rows=9, keys=130),
]


def get_inputs(rows=16384, keys=4096):
    return [20 * torch.randn(rows, keys)]


def get_init_inputs():
    return []
