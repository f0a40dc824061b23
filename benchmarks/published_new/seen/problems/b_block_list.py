"""Steps between the chosen blocks of each row of a map, in front, zeros behind them, and their number."""

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


class Model(nn.Module):
    def forward(self, chosen):
        at = torch.arange(chosen.shape[-1], device=chosen.device).expand(chosen.shape)
        last = torch.where(chosen, at, 0).cummax(-1).values
        step = at - torch.cat([torch.zeros_like(last[..., :1]), last[..., :-1]], -1)
        place = torch.where(chosen, chosen.long().cumsum(-1) - 1, chosen.shape[-1])
        out = torch.zeros(*chosen.shape[:-1], chosen.shape[-1] + 1, dtype=torch.int64, device=chosen.device)
        return out.scatter(-1, place, step)[..., :-1].to(torch.int32), chosen.sum(-1).to(torch.int32)


def get_inputs():
    return [torch.rand(batch, heads, rows, cols) < 0.4]


def get_init_inputs():
    return []
