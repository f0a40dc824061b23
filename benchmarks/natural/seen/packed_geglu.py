"""Pre-normalised feed-forward half of a transformer block: layer norm, a gated GELU from one packed product, and the
residual."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 8192
hidden = 2304
intermediate = 9216


class GatedMLP(nn.Module):
    def __init__(self, hidden, intermediate, dtype):
        super().__init__()
        self.gate_up = nn.Linear(hidden, 2 * intermediate, bias=False, dtype=dtype)
        self.down = nn.Linear(intermediate, hidden, bias=False, dtype=dtype)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.gelu(gate, approximate="tanh") * up)


class Model(nn.Module):
    def __init__(self, hidden, intermediate, dtype="bfloat16"):
        super().__init__()
        dtype = getattr(torch, dtype)
        self.norm = nn.LayerNorm(hidden, eps=1e-5, dtype=dtype)
        self.mlp = GatedMLP(hidden, intermediate, dtype)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def get_inputs():
    return [torch.randn(tokens, hidden, dtype=torch.bfloat16)]


def get_init_inputs():
    return [hidden, intermediate, "bfloat16"]
