"""Attention of one query for each sequence, over keys and values in the pages of a cache."""

import torch
import torch.nn as nn

BATCH = 8
NUM_HEADS = 32
NUM_KV_HEADS = 8
HEAD_DIM = 128
SEQ_LEN = 1024
PAGE_SIZE = 16

CASES = [
    dict(name="batch_8", BATCH=8, NUM_HEADS=32, NUM_KV_HEADS=8, HEAD_DIM=128, SEQ_LEN=1024),
    dict(name="ragged", held_out=True, BATCH=8, NUM_HEADS=16, NUM_KV_HEADS=4, HEAD_DIM=64, SEQ_LEN=2000),
]


class Model(nn.Module):
    def __init__(self, batch, num_heads, num_kv_heads, head_dim, seq_len, page_size):
        super().__init__()
        self.num_kv_heads, self.head_dim = num_kv_heads, head_dim
        self.group_size = num_heads // num_kv_heads
        self.scale = head_dim**-0.5
        self.register_buffer("_dummy", torch.zeros(1, dtype=torch.bfloat16), persistent=False)

    def forward(self, query, kv_cache, block_table, seq_lens):
        d = query.shape[-1]
        pairs = kv_cache[block_table.long()].flatten(1, 2).float()  # (B, slots, key heads, key and value)
        keys = pairs[..., :d].repeat_interleave(self.group_size, dim=2)
        values = pairs[..., d:].repeat_interleave(self.group_size, dim=2)
        scores = torch.einsum("bhd,bshd->bhs", query.float(), keys) * self.scale
        slots = torch.arange(scores.shape[-1], device=scores.device)
        scores = scores.masked_fill(slots[None, None, :] >= seq_lens[:, None, None], float("-inf"))
        return torch.einsum("bhs,bshd->bhd", torch.softmax(scores, dim=-1), values).to(query.dtype)


def get_inputs():
    pages = (SEQ_LEN + PAGE_SIZE - 1) // PAGE_SIZE
    total = max(BATCH * pages + 8, 64)
    query = torch.randn(BATCH, NUM_HEADS, HEAD_DIM, dtype=torch.bfloat16) * 0.1
    kv_cache = torch.randn(total, PAGE_SIZE, NUM_KV_HEADS, 2 * HEAD_DIM, dtype=torch.bfloat16) * 0.1
    block_table = torch.randperm(total)[: BATCH * pages].reshape(BATCH, pages).int()
    seq_lens = torch.full((BATCH,), SEQ_LEN, dtype=torch.int32)
    return [query, kv_cache, block_table, seq_lens]


def get_init_inputs():
    return [BATCH, NUM_HEADS, NUM_KV_HEADS, HEAD_DIM, SEQ_LEN, PAGE_SIZE]
