"""Rows divided by their norm. Wrong: the sum of squares leaves out the last, partial block."""


@triton.jit
def normalise(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    place = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):  # wrong: for first in range(0, columns - BLOCK + 1, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns, other=0.0)
        squares += x * x
    norm = tl.sqrt(tl.sum(squares, 0))
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns)
        tl.store(y_ptr + start + first + place, x / norm, mask=first + place < columns)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    normalise[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
