"""Convolution module of a conformer, between its attention and its second feed-forward half.

Padded frames are zeroed so that they cannot leak into the depthwise convolution.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
frames = 800
dim = 512
kernel_size = 31


class Model(nn.Module):
    def __init__(self, dim, kernel_size):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.pointwise1 = nn.Conv1d(dim, 2 * dim, 1)
        self.depthwise = nn.Conv1d(dim, dim, kernel_size, padding=(kernel_size - 1) // 2, groups=dim)
        self.batch_norm = nn.BatchNorm1d(dim)
        self.pointwise2 = nn.Conv1d(dim, dim, 1)

    def forward(self, x, lengths):
        """x: (batch, frames, dim); lengths: (batch,) valid frames."""
        pad = torch.arange(x.shape[1], device=x.device)[None, :] >= lengths[:, None]
        y = self.norm(x).transpose(1, 2)
        y = F.glu(self.pointwise1(y), dim=1)
        y = y.masked_fill(pad.unsqueeze(1), 0.0)
        y = self.depthwise(y)
        y = F.silu(self.batch_norm(y))
        y = self.pointwise2(y).transpose(1, 2)
        return x + y.masked_fill(pad.unsqueeze(2), 0.0)


def get_inputs():
    lengths = torch.randint(frames // 2, frames + 1, (batch,))
    return [torch.randn(batch, frames, dim), lengths]


def get_init_inputs():
    return [dim, kernel_size]
