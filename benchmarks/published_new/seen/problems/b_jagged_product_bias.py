"""Rows of each sequence times its own matrix, plus its own row."""

import torch
import torch.nn as nn

sequences = 16
longest = 512
inner = 512
cols = 256

CASES = [
    dict(name="full", sequences=16, longest=512, inner=512, cols=256, dtype="float32"),
    dict(name="odd", held_out=True, sequences=5, longest=77, inner=96, cols=80, dtype="float32"),
    dict(name="small", small=True, sequences=3, longest=20, inner=48, cols=32, dtype="float32"),
]


def sequence_of(offsets, tokens):
    at = torch.arange(tokens, device=offsets.device)
    return torch.searchsorted(offsets[1:].contiguous(), at, right=True)


def by_sequence(x, weight, sequence):
    out = x.new_zeros(x.shape[0], weight.shape[2])
    for s in range(weight.shape[0]):
        out = torch.where((sequence == s)[:, None], x @ weight[s], out)
    return out


class Model(nn.Module):
    def forward(self, x, weight, bias, offsets, longest):
        sequence = sequence_of(offsets, x.shape[0])
        return by_sequence(x, weight, sequence) + bias[sequence]


def get_inputs():
    lengths = torch.tensor([longest - 3 * i for i in range(sequences)])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    tokens = int(lengths.sum())
    return [
        torch.randn(tokens, inner),
        torch.randn(sequences, inner, cols),
        torch.randn(sequences, cols),
        offsets,
        longest,
    ]


def get_init_inputs():
    return []
