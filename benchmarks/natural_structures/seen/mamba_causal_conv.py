"""Causal depthwise conv1d of Mamba-2.8B: inner width 5120, filter 4, SiLU, 2 sequences of 2048."""
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 2
L = 2048
D_MODEL = 2560
EXPAND = 2
D_CONV = 4


class Model(nn.Module):
    def __init__(self, d_inner, d_conv):
        super().__init__()
        self.conv1d = nn.Conv1d(d_inner, d_inner, d_conv, groups=d_inner, padding=d_conv - 1, bias=True)
        self.conv1d = self.conv1d.to(torch.bfloat16)

    def forward(self, xz):
        """xz: (b, l, 2 * d_inner) as the input projection gives it."""
        l = xz.shape[1]  # noqa: E741
        x, z = xz.transpose(1, 2).chunk(2, dim=1)
        x = F.silu(self.conv1d(x)[..., :l])
        return x.transpose(1, 2), F.silu(z).transpose(1, 2)


def get_inputs():
    return [2 * torch.randn(B, L, 2 * EXPAND * D_MODEL, dtype=torch.bfloat16)]


def get_init_inputs():
    return [EXPAND * D_MODEL, D_CONV]
