"""The scaling step of blockwise quantisation: each 64 values in a row are divided by their largest magnitude."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK = 64


class Model(nn.Module):
    """weight: (rows, columns). Returns the scaled weight and one magnitude for each block; the last may be short."""

    def forward(self, weight):
        flat = weight.flatten()
        blocks = F.pad(flat, (0, -flat.numel() % BLOCK)).view(-1, BLOCK)
        largest = blocks.abs().amax(dim=1).clamp(min=1e-6)
        scaled = (blocks / largest[:, None]).flatten()[: flat.numel()]
        return scaled.view_as(weight), largest


CASES = [
    dict(name="4096x4096_bf16", dtype="bfloat16", rows=4096, columns=4096),
    dict(name="1003x777_fp32", dtype="float32", held_out=True, rows=1003, columns=777),
    dict(name="small_fp32", dtype="float32", small=True, rows=13, columns=101),
]


def get_inputs(rows=4096, columns=4096):
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
