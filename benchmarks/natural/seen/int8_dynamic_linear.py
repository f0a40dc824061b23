"""A linear layer with int8 weights, a scale for each output channel, and activations quantised on the fly per token.

A usual way to serve language models on hardware with fast 8-bit products.
"""

import torch
import torch.nn as nn

TOKENS = 2048
IN_FEATURES = 4096
OUT_FEATURES = 11008


def quantize_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-5) / 127.0
    return torch.clamp(torch.round(x / scale), -127, 127), scale


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        weight = torch.randn(out_features, in_features) / in_features**0.5
        quantized, scale = quantize_rows(weight)
        self.register_buffer("weight", quantized.to(torch.int8))
        self.register_buffer("weight_scale", scale.squeeze(-1))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x_q, x_scale = quantize_rows(x)
        acc = x_q @ self.weight.to(x_q.dtype).t()
        out = acc * x_scale * self.weight_scale
        if self.bias is not None:
            out = out + self.bias
        return out


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, True]
