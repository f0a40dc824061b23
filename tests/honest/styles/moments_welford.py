# problem: moments
# style: Welford's update over blocks, both outputs views of one allocation

import torch
import triton
import triton.language as tl


@triton.jit
def welford(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    count, mean, m2 = 0.0, 0.0, 0.0
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < cols
        x = tl.load(x_ptr + row * cols + c, mask=inside, other=0.0)
        n = tl.sum(inside.to(tl.float32), axis=0)
        block_mean = tl.sum(x, axis=0) / n
        d = tl.where(inside, x - block_mean, 0.0)
        delta = block_mean - mean
        new = count + n
        m2 += tl.sum(d * d, axis=0) + delta * delta * count * n / new
        mean += delta * n / new
        count = new
    tl.store(out_ptr + row, mean)
    tl.store(out_ptr + rows + row, m2 / cols)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty((2, x.shape[0]), device=x.device, dtype=x.dtype)
        welford[(x.shape[0],)](x, out, x.shape[0], x.shape[1], BLOCK=64)
        mean, var = out.unbind(0)
        return mean, var
