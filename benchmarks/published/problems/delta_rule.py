"""Delta rule over tokens, from a zero state."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
length = 48
heads = 8
width = 64

CASES = [
    dict(name="full", batch=2, length=48, heads=8, width=64, dtype="float32"),
    dict(name="small", small=True, batch=1, length=6, heads=2, width=16, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, k, v, beta):
        state = q.new_zeros(q.shape[0], q.shape[2], k.shape[-1], v.shape[-1])
        output = []
        for t in range(q.shape[1]):
            key = k[:, t]
            error = (v[:, t] - torch.einsum("bhk,bhkv->bhv", key, state)) * beta[:, t, :, None]
            state = state + key[..., None] * error[..., None, :]
            output.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state))
        return torch.stack(output, 1)


def get_inputs():
    return [
        torch.randn(batch, length, heads, width),
        F.normalize(torch.randn(batch, length, heads, width), dim=-1) * 0.7,
        torch.randn(batch, length, heads, width),
        torch.rand(batch, length, heads),
    ]


def get_init_inputs():
    return []
