"""DiT-XL/2: LayerNorm without weights, then shift and scale from adaLN; 256 tokens of width 1152, batch of 64."""
import torch
import torch.nn as nn

BATCH = 64
PATCHES = 256
WIDTH = 1152


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Model(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden_size, elementwise_affine=False, eps=1e-6)

    def forward(self, x, modulation):
        shift_msa, scale_msa, gate_msa, shift_mlp, scale_mlp, gate_mlp = modulation.chunk(6, dim=1)
        return modulate(self.norm1(x), shift_msa, scale_msa)


def get_inputs():
    x = torch.randn(BATCH, PATCHES, WIDTH).to(torch.bfloat16)
    modulation = torch.randn(BATCH, 6 * WIDTH).to(torch.bfloat16) * 0.3
    return [x, modulation]


def get_init_inputs():
    return [WIDTH]
