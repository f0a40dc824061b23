"""Explicit feature crosses of a ranking model: each layer multiplies the input with a low-rank map of the last layer's
output, mixed from a few experts."""

import torch
import torch.nn as nn

batch_size = 16384
in_features = 1024
low_rank = 64
num_experts = 4
num_layers = 2


class CrossLayer(nn.Module):
    def __init__(self, in_features, low_rank, num_experts):
        super().__init__()
        self.v = nn.Parameter(torch.randn(num_experts, in_features, low_rank) * in_features**-0.5)
        self.c = nn.Parameter(torch.randn(num_experts, low_rank, low_rank) * low_rank**-0.5)
        self.u = nn.Parameter(torch.randn(num_experts, low_rank, in_features) * low_rank**-0.5)
        self.bias = nn.Parameter(torch.zeros(in_features))
        self.gate = nn.Linear(in_features, num_experts, bias=False)

    def forward(self, x0, x):
        low = torch.tanh(torch.einsum("bi,eir->ber", x, self.v))
        low = torch.tanh(torch.einsum("ber,ers->bes", low, self.c))
        high = torch.einsum("bes,esi->bei", low, self.u)
        crossed = x0.unsqueeze(1) * (high + self.bias)
        gates = torch.softmax(self.gate(x), dim=-1)
        return x + torch.einsum("be,bei->bi", gates, crossed)


class Model(nn.Module):
    def __init__(self, in_features, low_rank, num_experts, num_layers):
        super().__init__()
        self.layers = nn.ModuleList(CrossLayer(in_features, low_rank, num_experts) for _ in range(num_layers))

    def forward(self, x):
        x0 = x
        for layer in self.layers:
            x = layer(x0, x)
        return x


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, low_rank, num_experts, num_layers]
