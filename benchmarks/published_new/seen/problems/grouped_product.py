"""Groups of rows, each times its own transposed matrix."""

import torch
import torch.nn as nn

groups = 4
rows = 512
n = 512
k = 512

CASES = [
    dict(name="full", groups=4, rows=512, n=1024, k=512, dtype="bfloat16"),
    dict(name="small", small=True, groups=2, rows=8, n=16, k=32, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, w, sizes):
        ends = torch.cumsum(sizes, 0)
        group = (torch.arange(x.shape[0], device=x.device)[:, None] >= ends).sum(1)
        every = torch.einsum("mk,gnk->gmn", x, w.view(sizes.shape[0], -1, x.shape[1]))
        return every.gather(0, group.view(1, -1, 1).expand(1, -1, every.shape[2]))[0]


def get_inputs():
    return [
        torch.randn(groups * rows, k),
        torch.randn(groups * n, k),
        torch.full((groups,), rows, dtype=torch.int32),
    ]


def get_init_inputs():
    return []
