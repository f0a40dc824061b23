"""A gated linear unit: the ReLU of one input times the other."""

import torch
import torch.nn as nn

rows = 8192
columns = 4096

CASES = [
    dict(name="large", dtype="float16", rows=8192, columns=4096),
    dict(name="odd", dtype="bfloat16", held_out=True, rows=1000, columns=4097),
    dict(name="small", dtype="float32", small=True, rows=8, columns=128),
    dict(name="small_wide", dtype="float16", small=True, rows=3, columns=8192),
]


class Model(nn.Module):
    def forward(self, gate, up):
        return (torch.relu(gate.float()) * up.float()).to(gate.dtype)


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_init_inputs():
    return []
