"""Downsampling between the stages of a hierarchical vision transformer: each two by two patches become one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """x: (batch, height * width, dim), a flattened image. Out: (batch, height / 2 * width / 2, 2 * dim)."""

    def __init__(self, dim, height, width):
        super().__init__()
        self.height, self.width = height, width
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        b, _, c = x.shape
        x = x.view(b, self.height, self.width, c)
        if self.height % 2 or self.width % 2:
            x = F.pad(x, (0, 0, 0, self.width % 2, 0, self.height % 2))
        x = torch.cat(
            [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]],
            dim=-1,
        )
        x = x.flatten(1, 2)
        return self.reduction(self.norm(x))


batch_size = 64
dim = 192
height = 28
width = 28


def get_inputs():
    return [torch.randn(batch_size, height * width, dim, dtype=torch.float32)]


def get_init_inputs():
    return [dim, height, width]
