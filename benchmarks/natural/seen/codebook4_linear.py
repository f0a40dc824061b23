"""A linear layer whose weights are 4-bit indices into a small codebook, with one absolute maximum for each block.

This is the frozen base layer when a large model is fine-tuned with adapters on one GPU.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
seq_len = 512
in_features = 4096
out_features = 4096
block = 64


def normal_codebook(levels=16):
    """Quantiles of the normal distribution, scaled to [-1, 1]."""
    points = torch.linspace(0.5 / levels, 1 - 0.5 / levels, levels, dtype=torch.float64)
    quantiles = 2**0.5 * torch.erfinv(2 * points - 1)
    return (quantiles / quantiles.abs().max()).float()


class Model(nn.Module):
    def __init__(self, in_features, out_features, block):
        super().__init__()
        self.in_features, self.out_features, self.block = in_features, out_features, block
        count = in_features * out_features
        self.register_buffer("packed", torch.randint(0, 256, (count // 2,), dtype=torch.uint8))
        self.register_buffer("absmax", (0.03 + 0.01 * torch.rand(count // block)).to(torch.bfloat16))
        self.register_buffer("codebook", normal_codebook().to(torch.bfloat16))

    def dequantize(self):
        high = (self.packed >> 4).long()
        low = (self.packed & 0x0F).long()
        values = self.codebook[torch.stack((high, low), dim=-1).view(-1)]
        values = values.view(-1, self.block) * self.absmax[:, None]
        return values.view(self.out_features, self.in_features)

    def forward(self, x):
        return F.linear(x, self.dequantize())


def get_inputs():
    return [torch.randn(batch, seq_len, in_features, dtype=torch.bfloat16)]


def get_init_inputs():
    return [in_features, out_features, block]
