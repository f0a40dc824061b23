"""Positions and slots of the tokens of requests that follow each other."""

import torch
import torch.nn as nn

requests = 64
longest = 700

CASES = [
    dict(name="full", requests=64, longest=700),
    dict(name="odd", held_out=True, requests=7, longest=77),
    dict(name="small", small=True, requests=3, longest=12),
]

MUTATES = ("position_ids", "slot_indices")


class Model(nn.Module):
    def forward(self, cached, starts, slots, position_ids, slot_indices):
        at = torch.arange(position_ids.shape[0], device=cached.device)
        which = torch.searchsorted(starts[1:].contiguous(), at, right=True)
        inside = at - starts[which]
        position_ids.copy_(cached[which] + inside)
        slot_indices.copy_(slots[which] + cached[which] + inside)


def get_inputs():
    lengths = torch.tensor([longest - i % 7 for i in range(requests)])
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    total = int(lengths.sum())
    return [
        torch.arange(requests) * 3,
        starts,
        torch.arange(requests + 1) * 2000,
        torch.zeros(total, dtype=torch.int64),
        torch.zeros(total, dtype=torch.int64),
    ]


def get_init_inputs():
    return []
