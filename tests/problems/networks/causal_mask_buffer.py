import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, n_embd, n_head, max_seqlen):
        super().__init__()
        self.n_head = n_head
        self.norm = nn.LayerNorm(n_embd)
        self.attn = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        mask = torch.tril(torch.ones(max_seqlen, max_seqlen)).view(1, 1, max_seqlen, max_seqlen)
        self.register_buffer("bias", mask)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (y.view(B, T, self.n_head, -1).transpose(1, 2) for y in self.attn(self.norm(x)).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = (F.softmax(att, dim=-1) @ v).transpose(1, 2).contiguous().view(B, T, C)
        return x + self.proj(y)


class Model(nn.Module):
    def __init__(self, vocabulary, n_embd, n_head, max_seqlen):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, n_embd)
        self.positions = nn.Embedding(max_seqlen, n_embd)
        self.blocks = nn.Sequential(Block(n_embd, n_head, max_seqlen), Block(n_embd, n_head, max_seqlen))
        self.head = nn.Linear(n_embd, vocabulary, bias=False)

    def forward(self, idx):
        place = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device).unsqueeze(0)
        return self.head(self.blocks(self.tokens(idx) + self.positions(place)))


batch, length, vocabulary, width, heads, longest = 2, 6, 11, 8, 2, 9


def get_inputs():
    return [torch.randint(0, vocabulary, (batch, length))]


def get_init_inputs():
    return [vocabulary, width, heads, longest]
