"""Write new keys and values of a batch into a paged KV cache at given slots (vLLM's reshape_and_cache)."""

import torch
import torch.nn as nn

block_size = 16
num_kv_heads = 8
head_dim = 128


class Model(nn.Module):
    def forward(self, key, value, key_cache, value_cache, slot_mapping):
        n_blocks, block, heads, dim = key_cache.shape
        block_idx = slot_mapping // block
        offset = slot_mapping % block
        key_cache[block_idx, offset] = key
        value_cache[block_idx, offset] = value


MUTATES = ("key_cache", "value_cache")

CASES = [
    dict(name="prefill", dtype="bfloat16", tokens=8192, num_blocks=8192),
    dict(name="decode", dtype="bfloat16", tokens=256, num_blocks=8192),
    dict(name="odd", dtype="float16", held_out=True, tokens=1001, num_blocks=333),
]


def get_inputs(tokens=8192, num_blocks=8192):
    slots = torch.randperm(num_blocks * block_size)[:tokens]
    return {
        "key": torch.randn(tokens, num_kv_heads, head_dim),
        "value": torch.randn(tokens, num_kv_heads, head_dim),
        "key_cache": torch.randn(num_blocks, block_size, num_kv_heads, head_dim),
        "value_cache": torch.randn(num_blocks, block_size, num_kv_heads, head_dim),
        "slot_mapping": slots,
    }


def get_init_inputs():
    return []
