"""Cumulative sum of rows, block after block. Wrong: a block starts from the last block's sum alone."""


@triton.jit
def cumulative_sum(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    carried = 0.0
    for first in range(0, columns, BLOCK):
        place = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + place, mask=place < columns, other=0.0)
        tl.store(y_ptr + start + place, carried + tl.cumsum(x, 0), mask=place < columns)
        carried = carried + tl.sum(x, 0)  # wrong: carried = 0.0 + tl.sum(x, 0)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    cumulative_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
    return y
