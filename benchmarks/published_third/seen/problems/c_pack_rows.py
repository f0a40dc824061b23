"""Values of four bits packed in eights of rows, the first in the low bits."""

import torch
import torch.nn as nn

rows = 4096
cols = 4096

CASES = [
    dict(name="full", rows=4096, cols=4096),
    dict(name="odd", held_out=True, rows=64, cols=200),
    dict(name="small", small=True, rows=16, cols=40),
]


class Model(nn.Module):
    def forward(self, weight):
        parts = weight.to(torch.int32).view(-1, 8, weight.shape[1])
        out = torch.zeros_like(parts[:, 0])
        for i in range(8):
            out = out | (parts[:, i] << (4 * i))
        return out


def get_inputs():
    return [torch.randint(0, 16, (rows, cols), dtype=torch.uint8)]


def get_init_inputs():
    return []
