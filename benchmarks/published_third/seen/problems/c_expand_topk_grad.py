"""The gradient of each token given to its rows of experts, times their scores."""

import torch
import torch.nn as nn

tokens = 4096
d = 2048

CASES = [
    dict(name="full", tokens=4096, d=2048, dtype="float32"),
    dict(name="odd", held_out=True, tokens=33, d=300, dtype="float32"),
    dict(name="small", small=True, tokens=5, d=70, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, grad, indices, scores):
        return grad[indices // 2] * scores[:, None]


def get_inputs():
    return [torch.randn(tokens, d), torch.randperm(2 * tokens), torch.rand(2 * tokens)]


def get_init_inputs():
    return []
