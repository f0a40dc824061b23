"""A Llama as Hugging Face writes it, that decodes one token with a cache of `length` positions, written in place."""

import os

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TINY = "TINY" in os.environ
"""Small sizes, to try the scripts of this folder without a GPU."""

SHAPE = (
    {"hidden": 256, "inner": 512, "heads": 4, "groups": 2, "words": 1000, "length": 64}
    if TINY
    else {"hidden": 2048, "inner": 8192, "heads": 32, "groups": 8, "words": 128256, "length": 4096}
)
"""Llama-3.2-1B."""


class Linear(nn.Linear):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)


class Int4Linear(nn.Module):
    """Weights of four bits in groups of 128, dequantised in PyTorch."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 255, (outputs, inputs // 2), dtype=torch.uint8))
        self.register_buffer("scale", torch.rand(outputs, max(1, inputs // 128), 1) * 0.01)

    def forward(self, x: Tensor) -> Tensor:
        low, high = (self.packed & 15).to(x.dtype) - 8, (self.packed >> 4).to(x.dtype) - 8
        outputs, groups, _ = self.scale.shape
        weight = torch.stack((low, high), -1).reshape(outputs, groups, -1) * self.scale.to(x.dtype)
        return F.linear(x, weight.reshape(outputs, -1))


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, make: type[nn.Module], hidden: int, inner: int, heads: int, groups: int) -> None:
        super().__init__()
        self.dim = hidden // heads
        self.norm1, self.norm2 = Norm(hidden), Norm(hidden)
        self.q, self.o = make(hidden, hidden), make(hidden, hidden)
        self.k, self.v = make(hidden, groups * self.dim), make(hidden, groups * self.dim)
        self.gate, self.up, self.down = make(hidden, inner), make(hidden, inner), make(inner, hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, place: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        h = self.norm1(x)
        q, k, v = (make(h).unflatten(-1, (-1, self.dim)).transpose(1, 2) for make in (self.q, self.k, self.v))
        keys.index_copy_(2, place, rotated(k, cos, sin))
        values.index_copy_(2, place, v)
        y = F.scaled_dot_product_attention(rotated(q, cos, sin), keys, values, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, layers: int, make: type[nn.Module] = Linear) -> None:
        super().__init__()
        hidden, words, length = (SHAPE[name] for name in ("hidden", "words", "length"))
        sizes = [SHAPE[name] for name in ("hidden", "inner", "heads", "groups")]
        dim = hidden // SHAPE["heads"]
        self.embed, self.norm, self.head = nn.Embedding(words, hidden), Norm(hidden), Linear(hidden, words)
        self.layers = nn.ModuleList(Layer(make, *sizes) for _ in range(2 if TINY else layers))
        angle = torch.outer(torch.arange(length).float(), 500000.0 ** -(torch.arange(0, dim, 2).float() / dim))
        angle = torch.cat((angle, angle), -1)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, words: Tensor, place: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
        x = self.embed(words)
        cos, sin = self.cos[place].to(x.dtype), self.sin[place].to(x.dtype)
        for layer, own_keys, own_values in zip(self.layers, keys, values, strict=True):
            x = layer(x, cos, sin, place, own_keys, own_values)
        return self.head(self.norm(x)).float()


def one_token(batch: int, layers: int) -> dict[str, list[object]]:
    """The arguments of one step: the last place of full caches."""
    dim, length = SHAPE["hidden"] // SHAPE["heads"], SHAPE["length"]
    shape = (batch, SHAPE["groups"], length, dim)
    keys, values = ([torch.randn(shape, dtype=torch.bfloat16) for _ in range(2 if TINY else layers)] for _ in range(2))
    words = torch.randint(0, SHAPE["words"], (batch, 1))
    return {"step": [words, torch.tensor([length - 1]), keys, values]}
