"""Rows of a padded table of blocks, one behind the other."""

import torch
import torch.nn as nn

requests = 64
longest = 700

CASES = [
    dict(name="full", requests=64, longest=700),
    dict(name="odd", held_out=True, requests=7, longest=77),
    dict(name="small", small=True, requests=3, longest=12),
]


class Model(nn.Module):
    def forward(self, tables, lengths, cached):
        inside = torch.arange(tables.shape[1], device=tables.device) < (lengths + cached)[:, None]
        return tables[inside]


def get_inputs():
    return [
        torch.randint(0, 9999, (requests, longest), dtype=torch.int32),
        torch.full((requests,), longest // 3),
        torch.full((requests,), longest // 2),
    ]


def get_init_inputs():
    return []
