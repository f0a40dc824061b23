"""Causal prefill attention of Llama-3-8B: 32 query heads, 8 key/value heads, head size 128, one prompt of 2048."""
import math

import torch

BATCH = 1
SEQ = 2048
HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.groups = HEADS // KV_HEADS
        self.scale = 1.0 / math.sqrt(HEAD_DIM)

    def forward(self, q, k, v):
        # q: [b, s, h, d]; k, v: [b, s, h_kv, d]
        k = torch.repeat_interleave(k, self.groups, dim=2)
        v = torch.repeat_interleave(v, self.groups, dim=2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.scale
        causal = torch.triu(torch.full((q.shape[1], k.shape[1]), float("-inf"), device=q.device), diagonal=1)
        probs = torch.softmax(scores.float() + causal, dim=-1).to(q.dtype)
        return torch.einsum("bhqk,bkhd->bqhd", probs, v).reshape(q.shape[0], q.shape[1], -1)


def get_inputs():
    q = 3 * torch.randn(BATCH, SEQ, HEADS, HEAD_DIM, dtype=torch.bfloat16)
    k = torch.randn(BATCH, SEQ, KV_HEADS, HEAD_DIM, dtype=torch.bfloat16)
    v = torch.randn(BATCH, SEQ, KV_HEADS, HEAD_DIM, dtype=torch.bfloat16)
    return [q, k, v]


def get_init_inputs():
    return []
