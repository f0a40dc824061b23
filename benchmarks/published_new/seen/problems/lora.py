"""Low-rank products for sequences, each with one of several adapters of up to 16 rows."""

import torch
import torch.nn as nn

batch = 8
length = 64
k = 1024
n = 1024

CASES = [
    dict(name="full", batch=8, length=64, k=1024, n=2048, dtype="float16"),
    dict(name="odd", batch=9, length=13, k=200, n=136, dtype="float16", held_out=True),
    dict(name="small", small=True, batch=2, length=5, k=32, n=48, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, lora_a, lora_b, scaling, rank_start, ranks, start, counts, adapters):
        token = torch.arange(x.shape[0], device=x.device)
        adapter = adapters[token // (x.shape[0] // start.shape[0])]
        place = torch.arange(16, device=x.device)
        row = rank_start[adapter][:, None] + place
        inner = (x @ lora_a.t()).gather(1, row) * scaling[adapter][:, None].to(x.dtype)
        inner = torch.where(place < ranks[adapter][:, None], inner, 0)
        return torch.zeros(len(x), len(lora_a), dtype=x.dtype, device=x.device).scatter(1, row, inner) @ lora_b


def get_inputs():
    return [
        torch.randn(batch * length, k),
        torch.randn(64, k),
        torch.randn(64, n),
        torch.tensor([1.0, 2.0, 4.0]),
        torch.tensor([0, 16, 32]),
        torch.tensor([16, 8, 0]),
        torch.arange(batch) * length,
        torch.full((batch,), length),
        torch.randint(0, 3, (batch,)),
    ]


def get_init_inputs():
    return []
