"""One decoding step of attention over a paged key/value cache.

Sequence b's key at position t is cache block table[b, t // page], row t % page. Lengths are from 0 to the table's capacity;
a length of 0 gives zeros. Entries of the table past the length are -1 or any block number. Any finite values."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k_cache, v_cache, table, lengths):
        page, t = k_cache.shape[1], torch.arange(table.shape[1] * k_cache.shape[1], device=q.device)
        block = table[:, t // page].clamp(min=0)
        k, v = k_cache[block, t % page], v_cache[block, t % page]
        s = torch.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        real = (t[None] < lengths[:, None])[:, None]
        p = torch.softmax(s.masked_fill(~real, float("-inf")), -1).nan_to_num(0.0).masked_fill(~real, 0.0)
        return torch.einsum("bht,bthd->bhd", p, v)


CASES = [
    dict(name="large", dtype="float16", batch=64, heads=16, size=64, blocks=2048, page=16, pages=64),
    dict(name="odd", dtype="float32", held_out=True, batch=5, heads=3, size=32, blocks=77, page=8, pages=9),
    dict(name="small", dtype="float32", small=True, batch=5, heads=2, size=16, blocks=20, page=8, pages=5),
    dict(name="page", dtype="float32", small=True, batch=4, heads=3, size=32, blocks=9, page=16, pages=4),
]


def get_inputs(batch=64, heads=16, size=64, blocks=2048, page=16, pages=64):
    lengths = torch.randint(0, page * pages + 1, (batch,))
    lengths[0] = 0
    lengths[1] = page * pages
    lengths[2] = page * 2
    table = torch.randint(0, blocks, (batch, pages))
    used = torch.arange(pages)[None] * page < lengths[:, None]
    return [
        torch.randn(batch, heads, size), torch.randn(blocks, page, heads, size), torch.randn(blocks, page, heads, size),
        torch.where(used, table, -torch.ones_like(table)), lengths,
    ]


def get_init_inputs():
    return []
