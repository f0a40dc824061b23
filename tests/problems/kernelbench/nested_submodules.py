import torch
import torch.nn as nn


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norms = nn.ModuleDict({"before": nn.LayerNorm(width), "after": nn.LayerNorm(width)})
        self.attention = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.feed = FeedForward(width)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        y = self.norms["before"](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.dropout(self.feed(self.norms["after"](x)))


class Model(nn.Module):
    """Two transformer blocks: dropout must be off."""

    def __init__(self, width, heads, depth):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(x)


def get_inputs():
    return [torch.randn(2, 10, 16)]


def get_init_inputs():
    return [16, 4, 2]
