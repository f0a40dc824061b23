# problem: row_sums
# style: pieces of a row added up by atomics; the output begins as zeros

import torch
import triton
import triton.language as tl


@triton.jit
def add_piece(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + row, tl.sum(tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0), axis=0))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = 64

    def forward(self, x):
        x = x.contiguous()
        y = torch.zeros(x.shape[0], device="cuda", dtype=torch.float32)
        add_piece[(x.shape[0], triton.cdiv(x.shape[1], self.block))](x, y, x.shape[1], BLOCK=self.block)
        return y
