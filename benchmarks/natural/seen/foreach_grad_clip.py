"""Clip the gradients of one transformer layer by their global norm; returns new gradients and the norm."""

import torch
import torch.nn as nn

dim = 2048
ffn = 5632
kv_dim = 512


class Model(nn.Module):
    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grads):
        norms = torch.stack([torch.linalg.vector_norm(g) for g in grads])
        total = torch.linalg.vector_norm(norms)
        coef = torch.clamp(self.max_norm / (total + 1e-6), max=1.0)
        return [g * coef for g in grads], total


CASES = [
    dict(name="tinyllama", dtype="float32"),
    dict(name="wide", dtype="float32", dim=4096, ffn=11008, kv_dim=4096),
]


def get_inputs():
    shapes = [(dim, dim), (kv_dim, dim), (kv_dim, dim), (dim, dim), (ffn, dim), (ffn, dim), (dim, ffn), (dim,), (dim,)]
    return [[torch.randn(*s) * 0.01 for s in shapes]]


def get_init_inputs():
    return [1.0]
