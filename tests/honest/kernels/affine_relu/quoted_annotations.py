"""Annotations of a kernel's arguments as text, names imported from Triton one by one, hints to the compiler."""

import torch
from torch import Tensor, nn
from triton import cdiv, jit
from triton import language as tl


@jit
def columns_of(i, features: "tl.int32"):
    """Offsets within a row."""
    return i % features


@jit
def affine_relu(
    x_ptr, w_ptr, b_ptr, s_ptr, out_ptr, n: "tl.int32", features: "tl.int32", BLOCK: "tl.constexpr"
):  # fmt: skip
    tl.static_assert(BLOCK % 32 == 0, "whole warps are expected")
    if tl.program_id(0) * BLOCK >= n:
        return
    i = tl.program_id(0) * BLOCK + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    inside = i < n
    column = columns_of(i, features)
    x = tl.load(x_ptr + i, mask=inside, eviction_policy="evict_first").to(tl.float32)
    w = tl.load(w_ptr + column, mask=inside, eviction_policy="evict_last").to(tl.float32)
    b = tl.load(b_ptr + column, mask=inside, cache_modifier=".ca").to(tl.float32)
    s = tl.load(s_ptr + column, mask=inside).to(tl.float32)
    tl.store(out_ptr + i, tl.clamp(x * w + b - s, 0.0, float("inf")), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int, *, block: int = 128):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features))
        self.bias = nn.Parameter(torch.empty(features))
        self.register_buffer("shift", torch.zeros(features))
        self.config = {"BLOCK": block, "num_warps": 4}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        with torch.no_grad():
            self.bias.zero_()

    @property
    def features(self) -> int:
        return self.weight.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            raise RuntimeError(f"{type(self).__name__} has no backward")
        assert x.is_cuda
        assert x.device == self.weight.device, f"{x.device=} but {self.weight.device=}"
        x = x.contiguous()
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        grid = (cdiv(x.numel(), self.config["BLOCK"]),)
        affine_relu[grid](x, self.weight, self.bias, self.shift, out, x.numel(), self.features, **self.config)
        return out
