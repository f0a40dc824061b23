"""One GRU step from projected inputs: gates = (reset, update, new), each of the hidden size, as in torch.nn.GRUCell.

xg and hg are the projections of input and state with their biases (3 * size wide); any finite values of any size."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xg, hg, h):
        xr, xz, xn = xg.chunk(3, -1)
        hr, hz, hn = hg.chunk(3, -1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return n + z * (h - n)


CASES = [
    dict(name="large", dtype="float32", batch=8192, size=1024),
    dict(name="odd", dtype="float16", held_out=True, batch=77, size=333),
    dict(name="small", dtype="float32", small=True, batch=9, size=50),
    dict(name="wide", dtype="float32", small=True, batch=3, size=300),
]


def get_inputs(batch=8192, size=1024):
    return [torch.randn(batch, 3 * size), torch.randn(batch, 3 * size), torch.randn(batch, size)]


def get_init_inputs():
    return []
