"""Experts of a few routes as dense numbers in the order of their first route, which expert each is, and how many."""

import torch
import torch.nn as nn

pairs = 64

CASES = [
    dict(name="full", pairs=64),
    dict(name="odd", pairs=41, held_out=True),
    dict(name="small", small=True, pairs=10),
]


class Model(nn.Module):
    def forward(self, ids):
        n = ids.shape[0]
        place = torch.arange(n, device=ids.device)
        first = torch.where(ids[:, None] == ids, place, n).amin(1)
        is_first = first == place
        dense = torch.cumsum(is_first.int(), 0) - 1
        experts = torch.zeros(n + 1, dtype=torch.int32, device=ids.device)
        experts = experts.scatter(0, torch.where(is_first, dense, n), ids)[:n]
        return dense[first].int(), experts, is_first.sum()[None].int()


def get_inputs():
    return [torch.randint(0, 24, (pairs,), dtype=torch.int32)]


def get_init_inputs():
    return []
