"""Scales of a hyper-connection: normed, weighted and squashed."""

import torch
import torch.nn as nn

rows = 16384

CASES = [
    dict(name="full", rows=16384, dtype="float32"),
    dict(name="odd", held_out=True, rows=1003, dtype="float32"),
    dict(name="small", small=True, rows=37, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, h, alpha, beta, square):
        none = alpha.new_zeros(8)
        weights = torch.cat([alpha[0].expand(4), alpha[1].expand(4), alpha[2].expand(16), none])
        out = h * weights / torch.sqrt(square + 2.0**-23)[:, None] + torch.cat([beta[0], none])
        return torch.cat([torch.sigmoid(out[:, :4]), 2 * torch.sigmoid(out[:, 4:8]), out[:, 8:]], 1)


def get_inputs():
    return [torch.randn(rows, 32), torch.randn(3), torch.randn(1, 24), torch.rand(rows) + 0.5]


def get_init_inputs():
    return []
