import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, value_ptr, place_ptr, columns, windows, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    w = tl.arange(0, BLOCK)
    inside = w < windows
    start = 2 * w
    best = tl.load(x_ptr + row * columns + start, mask=inside, other=0.0)
    place = start
    for step in tl.static_range(1, 3):
        x = tl.load(x_ptr + row * columns + start + step, mask=inside, other=0.0)
        better = (x > best) | (x != x)
        place = tl.where(better, start + step, place)
        best = tl.where(better, x, best)
    tl.store(value_ptr + row * windows + w, best, mask=inside)
    tl.store(place_ptr + row * windows + w, place.to(tl.int64), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        windows = (columns - 3) // 2 + 1
        values = torch.empty((rows, windows), dtype=x.dtype, device=x.device)
        places = torch.empty((rows, windows), dtype=torch.int64, device=x.device)
        pool_kernel[(rows,)](x, values, places, columns, windows, BLOCK=32)
        return values, places
