"""Front of a patch transformer for time series: every window is standardised by its own statistics, ignoring missing
values, cut into overlapping patches and embedded; the statistics are returned for the forecast."""

import torch
import torch.nn as nn

batch_size = 128
variables = 21
history = 512
patch_len = 16
stride = 8
d_model = 128


class Model(nn.Module):
    def __init__(self, variables, history, patch_len, stride, d_model, eps=1e-5):
        super().__init__()
        self.patch_len, self.stride, self.eps = patch_len, stride, eps
        self.affine_weight = nn.Parameter(torch.ones(variables, 1))
        self.affine_bias = nn.Parameter(torch.zeros(variables, 1))
        self.embed = nn.Linear(patch_len, d_model)
        patches = (history + stride - patch_len) // stride + 1
        self.position = nn.Parameter(0.02 * torch.randn(patches, d_model))

    def forward(self, x, observed):
        """x: (batch, variables, history); observed: the same shape, zero where a value is missing."""
        count = observed.sum(dim=-1, keepdim=True).clamp(min=1.0)
        mean = (x * observed).sum(dim=-1, keepdim=True) / count
        variance = ((x - mean).square() * observed).sum(dim=-1, keepdim=True) / count
        std = torch.sqrt(variance + self.eps)
        x = (x - mean) / std * observed
        x = x * self.affine_weight + self.affine_bias
        x = torch.cat((x, x[..., -1:].expand(-1, -1, self.stride)), dim=-1)
        patches = x.unfold(-1, self.patch_len, self.stride)
        return self.embed(patches) + self.position, mean, std


def get_inputs():
    shape = (batch_size, variables, history)
    return [torch.randn(shape), (torch.rand(shape) > 0.05).float()]


def get_init_inputs():
    return [variables, history, patch_len, stride, d_model]
