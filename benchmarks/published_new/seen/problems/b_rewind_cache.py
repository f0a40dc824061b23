"""Lengths, block counts and block numbers of requests after rejected tokens are taken back, in place."""

import torch
import torch.nn as nn

requests = 512
blocks = 16

CASES = [
    dict(name="full", requests=512, blocks=16, dtype="float32"),
    dict(name="odd", held_out=True, requests=101, blocks=9, dtype="float32"),
    dict(name="small", small=True, requests=7, blocks=4, dtype="float32"),
]

MUTATES = (
    "last_offset",
    "length",
    "count",
    "last_block",
    "table",
)


class Model(nn.Module):
    def forward(self, accepted, prefill, last_offset, length, count, last_block, table):
        back = torch.where(prefill == 1, 0, 3 - accepted)
        left = last_offset - back
        removed = left < 0
        released = last_block.clone()
        last_offset.copy_(left.remainder(64))
        length.sub_(back)
        count.copy_(torch.where(removed, count - 1, count))
        before = table.gather(1, (count - 1).clamp(min=0)[:, None].long())[:, 0]
        last_block.copy_(torch.where(removed, before, last_block))
        place = count.clamp(max=table.shape[1] - 1)[:, None].long()
        table.scatter_(1, place, torch.where(removed[:, None], -1, table.gather(1, place)))
        return released, removed


def get_inputs():
    return [
        torch.randint(0, 4, (requests,)),
        (torch.rand(requests) < 0.2).to(torch.int32),
        torch.randint(0, 64, (requests,), dtype=torch.int32),
        torch.randint(64, 500, (requests,), dtype=torch.int32),
        torch.randint(1, blocks + 1, (requests,), dtype=torch.int32),
        torch.randint(0, 1000, (requests,), dtype=torch.int32),
        torch.randint(0, 1000, (requests, blocks), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
