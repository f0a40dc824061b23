import torch
import torch.nn as nn

num_seqs = 32
num_heads = 32
num_kv_heads = 8
head_dim = 128
block_size = 16
blocks_per_seq = 64


class Model(nn.Module):
    def __init__(self, num_heads, num_kv_heads, head_dim, logit_cap=0.0):
        super().__init__()
        assert num_heads % num_kv_heads == 0
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.logit_cap = logit_cap
        self.scale = head_dim ** -0.5

    def forward(self, query, key_cache, value_cache, block_tables, context_lens):
        """
        query:        [num_seqs, num_heads, head_dim]
        key_cache:    [num_blocks, block_size, num_kv_heads, head_dim]
        value_cache:  same as key_cache
        block_tables: [num_seqs, max_blocks]  (int32)
        context_lens: [num_seqs]              (int32)
        """
        n, max_blocks = block_tables.shape
        bs = key_cache.shape[1]
        tables = block_tables.long()

        # gather the pages of every sequence
        k = key_cache[tables].reshape(n, max_blocks * bs, self.num_kv_heads, self.head_dim)
        v = value_cache[tables].reshape(n, max_blocks * bs, self.num_kv_heads, self.head_dim)

        q = query.view(n, self.num_kv_heads, -1, self.head_dim).float() * self.scale
        att = torch.einsum("nkgd,ntkd->nkgt", q, k.float())
        if self.logit_cap > 0:
            att = self.logit_cap * torch.tanh(att / self.logit_cap)

        pos = torch.arange(k.shape[1], device=query.device)
        valid = pos.unsqueeze(0) < context_lens.unsqueeze(1)
        att = att.masked_fill(~valid[:, None, None, :], float("-inf"))

        m = att.amax(-1, keepdim=True)
        e = torch.exp(att - m)
        denom = e.sum(-1, keepdim=True)
        lse = (m + denom.log()).squeeze(-1)
        out = torch.einsum("nkgt,ntkd->nkgd", e / denom, v.float())
        return out.reshape(n, self.num_heads, self.head_dim).to(query.dtype), lse.reshape(n, -1)


def get_inputs():
    num_blocks = num_seqs * blocks_per_seq
    q = torch.randn(num_seqs, num_heads, head_dim, dtype=torch.float16)
    kc = torch.randn(num_blocks, block_size, num_kv_heads, head_dim).half()
    vc = torch.randn(num_blocks, block_size, num_kv_heads, head_dim).half()
    tables = torch.randperm(num_blocks).view(num_seqs, blocks_per_seq).to(torch.int32)
    lens = torch.randint(1, block_size * blocks_per_seq + 1, (num_seqs,), dtype=torch.int32)
    return [q, kc, vc, tables, lens]


def get_init_inputs():
    return [num_heads, num_kv_heads, head_dim, 30.0]
