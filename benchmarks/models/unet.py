"""One level down, one with attention and one up, in the widths of SDXL's UNet: two latent images of 128x128."""

import torch
from decoder import TINY
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, DEPTH, BATCH, SIZE = (32, 1, 1, 16) if TINY else (320, 2, 2, 128)
CONTEXT, EMBEDDED = 2048, 1280


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(EMBEDDED, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Attention(nn.Module):
    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.k, self.v = nn.Linear(context, width, bias=False), nn.Linear(context, width, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        made = (self.q(x), self.k(y), self.v(y))
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in made)
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, width, heads), Attention(width, CONTEXT, heads)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.norm1(x)
        x = x + self.own(h, h)
        x = x + self.cross(self.norm2(x), y)
        inner, gate = self.up(self.norm3(x)).chunk(2, -1)
        return x + self.down(inner * F.gelu(gate))


class Transformer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.inner, self.outer = nn.GroupNorm(32, width), nn.Linear(width, width), nn.Linear(width, width)
        self.blocks = nn.ModuleList(Block(width, max(1, width // 64)) for _ in range(DEPTH))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = self.inner(self.norm(x).permute(0, 2, 3, 1).flatten(1, 2))
        for block in self.blocks:
            z = block(z, y)
        return x + self.outer(z).unflatten(1, x.shape[2:]).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.time = nn.Conv2d(4, width, 3, padding=1), nn.Linear(320, EMBEDDED)
        self.down1, self.down2 = Residual(width, width), Residual(width, width)
        self.smaller, self.larger = nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.inner1, self.attention1 = Residual(width, 2 * width), Transformer(2 * width)
        self.inner2, self.attention2 = Residual(3 * width, 2 * width), Transformer(2 * width)
        self.up1, self.up2 = Residual(3 * width, width), Residual(2 * width, width)
        self.norm, self.last = nn.GroupNorm(32, width), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor, step: Tensor, y: Tensor) -> Tensor:
        time, x = self.time(step), self.first(x)
        first = self.down1(x, time)
        second = self.down2(first, time)
        small = self.smaller(second)
        m = self.attention1(self.inner1(small, time), y)
        m = self.attention2(self.inner2(torch.cat((m, small), 1), time), y)
        m = self.larger(F.interpolate(m, scale_factor=2.0, mode="nearest"))
        m = self.up1(torch.cat((m, second), 1), time)
        m = self.up2(torch.cat((m, first), 1), time)
        return self.last(F.silu(self.norm(m)))


def build():
    return UNet(WIDTH).to(torch.bfloat16).to(memory_format=torch.channels_last)


def inputs():
    x = torch.randn(BATCH, 4, SIZE, SIZE, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    step, y = torch.randn(BATCH, 320, dtype=torch.bfloat16), torch.randn(BATCH, 77, CONTEXT, dtype=torch.bfloat16)
    return {"step": [x, step, y]}
