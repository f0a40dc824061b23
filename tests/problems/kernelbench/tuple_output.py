import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        values, positions = torch.topk(x, self.k, dim=-1)
        return values, positions, x.mean(dim=-1)


def get_inputs():
    return [torch.randn(5, 30)]


def get_init_inputs():
    return [4]
