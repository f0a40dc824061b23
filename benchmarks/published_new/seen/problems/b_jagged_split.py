"""Rows of each sequence parted into all but its last five and the last five."""

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
    def forward(self, x, offsets, longest):
        sequence = sequence_of(offsets + 5 * torch.arange(offsets.shape[0], device=x.device), x.shape[0])
        at = torch.arange(x.shape[0], device=x.device)
        local = at - (offsets[sequence] + 5 * sequence)
        length = offsets[sequence + 1] - offsets[sequence]
        head = local < length
        place = torch.where(
            head, offsets[sequence] + local, x.shape[0] - 5 * (offsets.shape[0] - 1) + 5 * sequence + local - length
        )
        moved = torch.zeros_like(x).index_copy(0, place, x)
        kept = x.shape[0] - 5 * (offsets.shape[0] - 1)
        return moved[:kept].contiguous(), moved[kept:].contiguous()


def get_inputs():
    lengths = torch.tensor([longest - 3 * i for i in range(sequences)])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    tokens = int(lengths.sum())
    return [torch.randn(tokens + 5 * sequences, inner), offsets, longest + 5]


def get_init_inputs():
    return []
