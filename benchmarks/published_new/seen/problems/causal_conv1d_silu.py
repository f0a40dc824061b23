"""SiLU of a causal convolution of four steps for each channel, with channels last."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 2048
dim = 1024

CASES = [
    dict(name="full", batch=4, length=2048, dim=1024, dtype="float32"),
    dict(name="odd", batch=3, length=101, dim=77, dtype="float32", held_out=True),
    dict(name="small", small=True, batch=2, length=9, dim=20, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        result = F.conv1d(x.transpose(1, 2), weight[:, None], bias, padding=3, groups=x.shape[2])
        return F.silu(result[..., : x.shape[1]]).transpose(1, 2)


def get_inputs():
    return [torch.randn(batch, length, dim), torch.randn(dim, 4), torch.randn(dim)]


def get_init_inputs():
    return []
