"""Strictly lower triangle of beta K K^T in chunks of 16 tokens."""

import torch
import torch.nn as nn

batch = 2
length = 1024
heads = 8
width = 64

PRECISION = "tf32"  # float32 products of tl.dot, by Triton's default

CASES = [
    dict(name="full", batch=2, length=1024, heads=8, width=64, dtype="bfloat16"),
    dict(name="small", small=True, batch=1, length=32, heads=2, width=16, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, k, beta):
        keys = k.float().unflatten(1, (-1, 16))
        products = torch.einsum("bnihk,bnjhk->bnihj", keys * beta.float().unflatten(1, (-1, 16))[..., None], keys)
        lower = torch.ones(16, 16, device=k.device, dtype=torch.bool).tril(-1)
        return torch.where(lower[:, None, :], products, 0.0).flatten(1, 2)


def get_inputs():
    return [torch.randn(batch, length, heads, width), torch.randn(batch, length, heads)]


def get_init_inputs():
    return []
