"""One decoding step with a sliding-window cache: the new key and value replace the oldest slot of a ring.

Found in servers of models with local attention, where the cache never grows beyond the window.
"""

import math

import torch
import torch.nn as nn

BATCH = 32
WINDOW = 4096
Q_HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128


class Model(nn.Module):
    def __init__(self, q_heads: int, kv_heads: int, head_dim: int):
        super().__init__()
        self.group = q_heads // kv_heads
        self.kv_heads = kv_heads
        self.head_dim = head_dim
        self.scale = 1.0 / math.sqrt(head_dim)

    def forward(self, q, k_new, v_new, k_cache, v_cache, positions):
        """q: (batch, q_heads, head_dim); caches: (batch, window, kv_heads, head_dim); positions: tokens seen so far."""
        batch, window = k_cache.shape[:2]
        slots = torch.arange(window, device=q.device)
        here = (slots[None, :] == (positions % window)[:, None])[:, :, None, None]
        keys = torch.where(here, k_new[:, None], k_cache)
        values = torch.where(here, v_new[:, None], v_cache)

        q = q.view(batch, self.kv_heads, self.group, self.head_dim)
        scores = torch.einsum("bhgd,bthd->bhgt", q, keys).float() * self.scale
        filled = slots[None, :] <= positions[:, None]  # all of them once the ring has wrapped around
        scores = scores.masked_fill(~filled[:, None, None, :], float("-inf"))
        weights = torch.softmax(scores, dim=-1).to(values.dtype)
        out = torch.einsum("bhgt,bthd->bhgd", weights, values)
        return out.reshape(batch, -1)


def get_inputs():
    half = torch.float16
    return [
        torch.randn(BATCH, Q_HEADS, HEAD_DIM, dtype=half),
        torch.randn(BATCH, KV_HEADS, HEAD_DIM, dtype=half),
        torch.randn(BATCH, KV_HEADS, HEAD_DIM, dtype=half),
        torch.randn(BATCH, WINDOW, KV_HEADS, HEAD_DIM, dtype=half),
        torch.randn(BATCH, WINDOW, KV_HEADS, HEAD_DIM, dtype=half),
        torch.randint(0, 2 * WINDOW, (BATCH,)),
    ]


def get_init_inputs():
    return [Q_HEADS, KV_HEADS, HEAD_DIM]
