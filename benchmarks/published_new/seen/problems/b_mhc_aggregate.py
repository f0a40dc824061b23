"""Four streams of a hyper-connection weighted and added."""

import torch
import torch.nn as nn

length = 512
batch = 4
width = 1024

CASES = [
    dict(name="full", length=512, batch=4, width=1024, dtype="float32"),
    dict(name="odd", held_out=True, length=7, batch=3, width=320, dtype="float32"),
    dict(name="small", small=True, length=3, batch=2, width=96, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, x, h):
        return (x * h[:, :, None, :]).sum(-1)


def get_inputs():
    return [torch.randn(length, batch, width, 4), torch.randn(length, batch, 4)]


def get_init_inputs():
    return []
