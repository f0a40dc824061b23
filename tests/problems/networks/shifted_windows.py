import torch
import torch.nn as nn
import torch.nn.functional as F


def windows(x, size):
    B, H, W, C = x.shape
    return x.view(B, H // size, size, W // size, size, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, C)


def joined(x, size, H, W):
    B = int(x.shape[0] / (H * W / size / size))
    return x.view(B, H // size, W // size, size, size, -1).permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


class Model(nn.Module):
    """Attention in shifted windows: a mask of -100, a table of relative positions, cosine scores, a clamped scale."""

    def __init__(self, dim, side, window_size, shift_size, num_heads):
        super().__init__()
        self.side, self.window, self.shift, self.heads = side, window_size, shift_size, num_heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones((num_heads, 1, 1))))
        self.table = nn.Parameter(torch.zeros((2 * window_size - 1) ** 2, num_heads))
        at = torch.stack(torch.meshgrid(torch.arange(window_size), torch.arange(window_size), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + window_size - 1
        self.register_buffer("index", apart[:, :, 0] * (2 * window_size - 1) + apart[:, :, 1])
        regions = torch.zeros((1, side, side, 1))
        cuts = (slice(0, -window_size), slice(-window_size, -shift_size), slice(-shift_size, None))
        for number, (rows, columns) in enumerate((one, other) for one in cuts for other in cuts):
            regions[:, rows, columns, :] = number
        regions = windows(regions, window_size).squeeze(-1)
        mask = regions.unsqueeze(1) - regions.unsqueeze(2)
        self.register_buffer("mask", mask.masked_fill(mask != 0, -100.0))

    def forward(self, x):
        B, _, C = x.shape
        y = torch.roll(x.view(B, self.side, self.side, C), shifts=(-self.shift, -self.shift), dims=(1, 2))
        y = windows(y, self.window)
        q, k, v = self.qkv(y).reshape(*y.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        scores = scores * torch.clamp(self.logit_scale, max=torch.log(torch.tensor(1.0 / 0.01))).exp()
        bias = self.table[self.index.view(-1)].view(*self.index.shape, -1).permute(2, 0, 1)
        scores = scores + 16 * torch.sigmoid(bias).unsqueeze(0)
        n = self.mask.shape[0]
        scores = scores.view(B, n, self.heads, *self.index.shape) + self.mask.unsqueeze(1).unsqueeze(0)
        scores = scores.view(-1, self.heads, *self.index.shape)
        y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(-1, self.window**2, C)
        y = torch.roll(joined(y, self.window, self.side, self.side), shifts=(self.shift, self.shift), dims=(1, 2))
        return x + self.norm(y.view(B, -1, C))


batch, dim, side, window_size, shift_size, num_heads = 2, 8, 8, 4, 2, 2


def get_inputs():
    return [torch.randn(batch, side * side, dim)]


def get_init_inputs():
    return [dim, side, window_size, shift_size, num_heads]
