"""Attention within sequences of several lengths, of quantised queries and keys with one scale for each block."""

import torch
import torch.nn as nn

sequences = 4
longest = 512
heads = 8
kv_heads = 2
width = 64

CASES = [
    dict(name="full", sequences=4, longest=512, heads=8, kv_heads=2, width=64),
    dict(name="odd", held_out=True, sequences=3, longest=250, heads=4, kv_heads=4, width=128),
    dict(name="small", small=True, sequences=2, longest=100, heads=2, kv_heads=1, width=64),
]


class Model(nn.Module):
    def forward(self, q, k, v, cu_seqlens, q_scale, k_scale, scale_start_q, scale_start_k):
        at = torch.arange(q.shape[0], device=q.device)
        sequence = torch.searchsorted(cu_seqlens[1:].contiguous().long(), at, right=True)
        position = at - cu_seqlens.long()[sequence]
        q_row = q_scale[scale_start_q.long()[sequence] + position // 128]
        k_row = k_scale[scale_start_k.long()[sequence] + position // 64]
        group = q.shape[1] // k.shape[1]
        wide_q = q.to(q_row.dtype) * q_row[..., None]
        wide_k = (k.to(k_row.dtype) * k_row[..., None]).repeat_interleave(group, 1)
        scores = torch.einsum("qhd,khd->hqk", wide_q, wide_k) * 0.6931471805599453
        seen = sequence[:, None] == sequence[None, :]
        p = torch.softmax(scores.masked_fill(~seen, -float("inf")), -1).to(v.dtype)
        return torch.einsum("hqk,khd->qhd", p, v.repeat_interleave(group, 1))


def get_inputs():
    lengths = torch.tensor([longest - 7 * i for i in range(sequences)])
    cu_seqlens = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
    tokens = int(lengths.sum())
    starts = [torch.cat([torch.zeros(1), ((lengths + b - 1) // b).cumsum(0)]).to(torch.int32) for b in (128, 64)]
    return [
        torch.randint(-127, 128, (tokens, heads, width), dtype=torch.int8),
        torch.randint(-127, 128, (tokens, kv_heads, width), dtype=torch.int8),
        torch.randn(tokens, kv_heads, width).half(),
        cu_seqlens,
        (torch.rand(int(starts[0][-1]), heads) + 0.5) / 127,
        (torch.rand(int(starts[1][-1]), kv_heads) + 0.5) / 127 / width**0.5,
        starts[0],
        starts[1],
    ]


def get_init_inputs():
    return []
