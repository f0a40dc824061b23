"""For each appended token its sequence, and its position there."""

import torch
import torch.nn as nn

batch = 64
count = 100

CASES = [
    dict(name="full", batch=256, count=500),
    dict(name="odd", batch=33, count=131, held_out=True),
    dict(name="small", small=True, batch=9, count=5),
]


class Model(nn.Module):
    def forward(self, indptr, lengths, total):
        token = torch.arange(total, device=indptr.device)
        sequence = (token[:, None] >= indptr[1:]).sum(1)
        return sequence.int(), (token + lengths[sequence] - indptr[sequence + 1]).int()


def get_inputs():
    return [
        torch.arange(batch + 1, dtype=torch.int32) * count,
        torch.randint(count, 2 * count, (batch,), dtype=torch.int32),
        batch * count,
    ]


def get_init_inputs():
    return []
