import math

import torch
import torch.nn as nn

BATCH = 64
HEADS = 128
NOPE_DIM = 128
ROPE_DIM = 64
KV_LORA_RANK = 512
V_DIM = 128
CTX = 2048


class Model(nn.Module):
    """DeepSeek style multi-head latent attention, one decode step.

    Uses the "absorbed" formulation: the key up-projection is folded into the
    query, and the value up-projection is applied after attending over the
    compressed cache, so that only the latent (and the shared rope key) is read.
    """

    def __init__(self, heads, nope_dim, rope_dim, kv_rank, v_dim, softmax_scale=None):
        super().__init__()
        self.heads = heads
        self.nope_dim = nope_dim
        self.rope_dim = rope_dim
        self.kv_rank = kv_rank
        self.scale = softmax_scale or 1.0 / math.sqrt(nope_dim + rope_dim)
        self.w_uk = nn.Parameter(
            (torch.randn(heads, nope_dim, kv_rank) / math.sqrt(kv_rank)).to(torch.bfloat16)
        )
        self.w_uv = nn.Parameter(
            (torch.randn(heads, v_dim, kv_rank) / math.sqrt(kv_rank)).to(torch.bfloat16)
        )

    def forward(self, q, kv_cache, seq_lens):
        q_nope, q_pe = q.split([self.nope_dim, self.rope_dim], dim=-1)
        latent = kv_cache[..., : self.kv_rank]
        k_pe = kv_cache[..., self.kv_rank :]

        q_lat = torch.einsum("bhd,hdc->bhc", q_nope, self.w_uk)
        scores = torch.einsum("bhc,btc->bht", q_lat, latent)
        scores = scores + torch.einsum("bhr,btr->bht", q_pe, k_pe)
        scores = scores.float() * self.scale

        t = torch.arange(kv_cache.shape[1], device=q.device)
        scores = scores.masked_fill(t[None, None, :] >= seq_lens[:, None, None], float("-inf"))
        p = scores.softmax(dim=-1).to(q.dtype)

        o = torch.einsum("bht,btc->bhc", p, latent)
        o = torch.einsum("bhc,hdc->bhd", o, self.w_uv)
        return o.flatten(1)


def get_inputs():
    q = torch.randn(BATCH, HEADS, NOPE_DIM + ROPE_DIM, dtype=torch.bfloat16)
    cache = torch.randn(BATCH, CTX, KV_LORA_RANK + ROPE_DIM, dtype=torch.bfloat16)
    lens = torch.randint(CTX // 2, CTX + 1, (BATCH,))
    return [q, cache, lens]


def get_init_inputs():
    return [HEADS, NOPE_DIM, ROPE_DIM, KV_LORA_RANK, V_DIM]
