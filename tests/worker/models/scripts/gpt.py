"""A small GPT with tied embeddings and a loss, trained under autocast: forward and backward."""

import torch
import torch.nn.functional as F
from torch import nn

train = True
autocast = torch.bfloat16


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        made = F.scaled_dot_product_attention(*split, is_causal=True)
        x = x + F.dropout(self.out(made.transpose(1, 2).reshape(batch, length, width)), 0.1, self.training)
        return x + self.down(F.gelu(self.up(self.after(x))))


class GPT(nn.Module):
    def __init__(self, width=128, words=400):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.layers = nn.ModuleList(Layer(width, 4) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, labels):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), labels.flatten(), ignore_index=-100)


def build():
    return GPT()


def inputs():
    labels = torch.randint(0, 400, (2, 64))
    return {"step": [torch.randint(0, 400, (2, 64)), labels.masked_fill(torch.rand(2, 64) < 0.2, -100)]}
