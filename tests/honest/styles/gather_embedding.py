# problem: gather
# style: integer inputs, nn.Embedding as a container

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather(index_ptr, table_ptr, y_ptr, width, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    entry = tl.load(index_ptr + item)
    for start in range(0, width, BLOCK):
        c = start + tl.arange(0, BLOCK)
        row = tl.load(table_ptr + entry * width + c, mask=c < width)
        tl.store(y_ptr + item * width + c, row, mask=c < width)


class ModelNew(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.table = nn.Embedding(entries, width)

    def forward(self, index):
        index = index.contiguous()
        width = self.table.embedding_dim
        y = torch.empty((*index.shape, width), device=index.device, dtype=self.table.weight.dtype)
        gather[(index.numel(),)](index, self.table.weight, y, width, BLOCK=16)
        return y
