"""A page of keys at a time, its address out of the table."""

import torch
import triton
import triton.language as tl


@triton.jit
def paged_mean_kernel(cache_ptr, table_ptr, out_ptr, length, page, width, PAGE: tl.constexpr, WIDTH: tl.constexpr):
    sequence = tl.program_id(0)
    slot = tl.arange(0, PAGE)[:, None]
    column = tl.arange(0, WIDTH)[None, :]
    inside = (slot < page) & (column < width)
    total = tl.zeros((PAGE, WIDTH), tl.float32)
    for place in range(0, length):
        start = tl.load(table_ptr + sequence * length + place) * page * width
        total += tl.load(cache_ptr + start + slot * width + column, mask=inside, other=0.0)
    mean = tl.sum(total, axis=0) / (length * page)
    at = tl.arange(0, WIDTH)
    tl.store(out_ptr + sequence * width + at, mean, mask=at < width)


def kernel_function(keys, table):
    keys = keys.contiguous()
    table = table.contiguous()
    sequences, length = table.shape
    _, page, width = keys.shape
    out = torch.empty((sequences, width), dtype=keys.dtype, device=keys.device)
    paged_mean_kernel[(sequences,)](
        keys, table, out, length, page, width,
        PAGE=triton.next_power_of_2(page), WIDTH=triton.next_power_of_2(width),
    )  # fmt: skip
    return out
