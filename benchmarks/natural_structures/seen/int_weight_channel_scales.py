"""down_proj of Llama-3-8B (14336 -> 4096) with int8 weights and a scale per output channel, 16 rows."""
import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 16
IN_FEATURES = 14336
OUT_FEATURES = 4096


class Model(nn.Module):
    """Weight-only int8 linear."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        w = torch.randn(out_features, in_features) / in_features**0.5
        amax = w.abs().amax(dim=1).clamp(min=1e-8)
        self.register_buffer("weight", torch.round(w / amax[:, None] * 127).to(torch.int8))
        self.register_buffer("scales", (amax / 127).to(torch.bfloat16))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.linear(input, self.weight.to(dtype=input.dtype)) * self.scales


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES, dtype=torch.bfloat16)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
