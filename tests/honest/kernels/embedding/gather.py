"""Integer indices; nn.Embedding as the container; a factor computed with math on the host."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather(tokens_ptr, table_ptr, out_ptr, width, factor, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    row = tl.load(tokens_ptr + token)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(table_ptr + row * width + column, mask=column < width)
    tl.store(out_ptr + token * width + column, value * factor, mask=column < width)


class ModelNew(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)
        self.factor = math.sqrt(width)

    def extra_repr(self) -> str:
        return f"factor={self.factor:.3f}"

    def forward(self, tokens):
        tokens = tokens.contiguous()
        weight = self.table.weight
        width = weight.shape[1]
        out = torch.empty(*tokens.shape, width, dtype=weight.dtype, device=weight.device)
        grid = (tokens.numel(), triton.cdiv(width, 32))
        gather[grid](tokens, weight, out, width, self.factor, BLOCK=32)
        return out
