"""Softmax over keys with a boolean key-padding mask, as attention does.

`keep` says which keys of a batch element count; any pattern may occur, also rows where none does: those give zeros.
Scores may have any values, of any size. `scale` is any positive number."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores, keep, scale):
        s = (scores * scale).masked_fill(~keep[:, None, None, :], float("-inf"))
        p = torch.softmax(s, dim=-1)
        return torch.where(keep.any(-1)[:, None, None, None], p, torch.zeros_like(p))


CASES = [
    dict(name="large", dtype="float16", batch=32, heads=16, queries=512, keys=2048, scale=0.125),
    dict(name="odd", dtype="float32", held_out=True, batch=3, heads=5, queries=77, keys=1333, scale=0.3),
    dict(name="small", dtype="float32", small=True, batch=3, heads=2, queries=3, keys=70, scale=0.125),
    dict(name="long", dtype="float32", small=True, batch=2, heads=1, queries=2, keys=300, scale=1.5),
    dict(name="half", dtype="float16", small=True, batch=2, heads=2, queries=2, keys=128, scale=0.25),
]


def get_inputs(batch=32, heads=16, queries=512, keys=2048, scale=0.125):
    keep = torch.rand(batch, keys) < 0.7
    keep[-1] = False
    return [torch.randn(batch, heads, queries, keys), keep, scale]


def get_init_inputs():
    return []
