"""First entries of each row's sorted numbers, at least one, set in a map in place."""

import torch
import torch.nn as nn

batch = 2
heads = 8
rows = 32
cols = 64

CASES = [
    dict(name="full", batch=2, heads=8, rows=32, cols=64, dtype="float32"),
    dict(name="odd", held_out=True, batch=2, heads=3, rows=5, cols=33, dtype="float32"),
    dict(name="small", small=True, batch=1, heads=2, rows=3, cols=7, dtype="float32"),
]

MUTATES = ("chosen",)


class Model(nn.Module):
    def forward(self, chosen, count, order):
        taken = torch.arange(order.shape[-1], device=order.device) < count.clamp(min=1)[..., None]
        hits = torch.zeros(order.shape, dtype=torch.int64, device=order.device).scatter_add(-1, order, taken.long())
        chosen.copy_(chosen | (hits > 0))


def get_inputs():
    return [
        torch.rand(batch, heads, rows, cols) < 0.1,
        torch.randint(0, cols // 2, (batch, heads, rows)),
        torch.argsort(torch.randn(batch, heads, rows, cols), -1),
    ]


def get_init_inputs():
    return []
