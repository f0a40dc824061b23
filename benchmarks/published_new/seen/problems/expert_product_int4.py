"""Rows of tokens times the matrices of their experts of four bits, by a list of routes in blocks of 32, one expert a
block."""

import torch
import torch.nn as nn

tokens = 256
experts = 4
n = 256
k = 256

CASES = [
    dict(name="full", tokens=256, experts=8, n=1024, k=1024, dtype="float16"),
    dict(name="small", small=True, tokens=32, experts=2, n=128, k=256, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, qweight, scales, qzeros, routes, block_experts, padded):
        shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
        weight = ((qweight[..., None] >> shifts) & 15).flatten(2)
        zeros = ((qzeros[..., None] >> shifts) & 15).flatten(2).transpose(1, 2) + 1
        weight = (weight - zeros.repeat_interleave(128, 2)) * scales.transpose(1, 2).repeat_interleave(128, 2)
        expert = block_experts.repeat_interleave(32).long()
        rows = x[(routes // 2).long()]
        product = torch.zeros(len(rows), weight.shape[1], dtype=x.dtype, device=x.device)
        for e in range(weight.shape[0]):
            product = torch.where((expert == e)[:, None], rows @ weight[e].t(), product)
        result = torch.zeros_like(product).index_copy(0, routes.long(), product)
        return result.view(-1, 2, weight.shape[1])


def get_inputs():
    return [
        torch.randn(tokens, k),
        torch.randint(-(2**31), 2**31 - 1, (experts, n, k // 8), dtype=torch.int32),
        torch.rand(experts, k // 128, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (experts, k // 128, n // 8), dtype=torch.int32),
        torch.randperm(tokens * 2).int(),
        torch.randint(0, experts, (tokens // 16,), dtype=torch.int32),
        torch.full((1,), tokens * 2, dtype=torch.int32),
    ]


def get_init_inputs():
    return []
