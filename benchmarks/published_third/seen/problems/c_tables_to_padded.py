"""Block tables that follow each other copied to rows of a padded table."""

import torch
import torch.nn as nn

requests = 64
longest = 700

CASES = [
    dict(name="full", requests=64, longest=700),
    dict(name="odd", held_out=True, requests=7, longest=77),
    dict(name="small", small=True, requests=3, longest=12),
]

MUTATES = ("tables",)


class Model(nn.Module):
    def forward(self, starts, tables, ragged):
        at = starts[:-1, None] + torch.arange(tables.shape[1], device=tables.device)
        inside = at < starts[1:, None]
        tables.copy_(torch.where(inside, ragged[torch.where(inside, at, 0)], tables))


def get_inputs():
    lengths = torch.tensor([longest - i % 7 for i in range(requests)])
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    return [
        starts,
        torch.zeros(requests, longest, dtype=torch.int32),
        torch.randint(0, 9999, (int(lengths.sum()),), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
