"""Decoding with a compressed cache: keys and values of all heads are expanded from one latent vector per token, and a
small rotary part of the key is shared between the heads."""

import torch
import torch.nn as nn

batch = 8
context = 2048
hidden = 2048
heads = 16
latent = 512
nope_dim = 128
rope_dim = 64


class Model(nn.Module):
    def __init__(self, hidden, heads, latent, nope_dim, rope_dim):
        super().__init__()
        self.heads, self.nope_dim, self.rope_dim = heads, nope_dim, rope_dim
        self.q_proj = nn.Linear(hidden, heads * (nope_dim + rope_dim), bias=False)
        self.kv_norm = nn.RMSNorm(latent, eps=1e-6)
        self.k_up = nn.Parameter(torch.randn(heads, nope_dim, latent) * latent**-0.5)
        self.v_up = nn.Parameter(torch.randn(heads, latent, nope_dim) * latent**-0.5)
        self.o_proj = nn.Linear(heads * nope_dim, hidden, bias=False)
        self.scale = (nope_dim + rope_dim) ** -0.5
        self.to(torch.bfloat16)

    def forward(self, x, latent_cache, rope_cache, lengths):
        """x: (batch, hidden); latent_cache: (batch, context, latent); rope_cache: (batch, context, rope_dim)."""
        b, t, _ = latent_cache.shape
        q = self.q_proj(x).view(b, self.heads, -1)
        q_nope, q_rope = q.split([self.nope_dim, self.rope_dim], dim=-1)
        c = self.kv_norm(latent_cache)
        # absorb the key's expansion into the query, so that scores are taken in the latent space
        q_latent = torch.einsum("bhd,hdc->bhc", q_nope, self.k_up)
        scores = torch.einsum("bhc,btc->bht", q_latent, c) + torch.einsum("bhr,btr->bht", q_rope, rope_cache)
        scores = scores.float() * self.scale
        visible = torch.arange(t, device=x.device)[None, :] < lengths[:, None]
        scores = scores.masked_fill(~visible[:, None, :], float("-inf"))
        weights = scores.softmax(dim=-1).to(x.dtype)
        mixed = torch.einsum("bht,btc->bhc", weights, c)
        out = torch.einsum("bhc,hcd->bhd", mixed, self.v_up)
        return self.o_proj(out.flatten(1))


def get_inputs():
    return [
        torch.randn(batch, hidden, dtype=torch.bfloat16),
        torch.randn(batch, context, latent, dtype=torch.bfloat16),
        torch.randn(batch, context, rope_dim, dtype=torch.bfloat16),
        torch.randint(1, context + 1, (batch,)),
    ]


def get_init_inputs():
    return [hidden, heads, latent, nope_dim, rope_dim]
