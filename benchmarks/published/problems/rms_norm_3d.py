"""RMS norm over the last of three dimensions."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
length = 512
dim = 2000

CASES = [
    dict(name="full", batch=8, length=512, dim=2000, dtype="float16"),
    dict(name="small", small=True, batch=2, length=3, dim=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight):
        return F.rms_norm(x, (x.shape[-1],), weight, 1e-6)


def get_inputs():
    return [torch.randn(batch, length, dim), torch.randn(dim)]


def get_init_inputs():
    return []
