"""Rows of each sequence of one list followed by those of another."""

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


class Model(nn.Module):
    def forward(self, x, y, x_offsets, y_offsets, longest):
        first, second = sequence_of(x_offsets, x.shape[0]), sequence_of(y_offsets, y.shape[0])
        place_x = torch.arange(x.shape[0], device=x.device) + y_offsets[first]
        place_y = torch.arange(y.shape[0], device=x.device) + x_offsets[second + 1]
        out = x.new_zeros(x.shape[0] + y.shape[0], x.shape[1])
        return out.index_copy(0, place_x, x).index_copy(0, place_y, y)


def get_inputs():
    lengths = torch.tensor([longest - 3 * i for i in range(sequences)])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    tokens = int(lengths.sum())
    y_offsets = torch.arange(sequences + 1) * 5
    return [torch.randn(tokens, inner), torch.randn(sequences * 5, inner), offsets, y_offsets, longest + 5]


def get_init_inputs():
    return []
