"""Softmax of rows in one pass over blocks. Wrong: the maximum is not subtracted."""


@triton.jit
def softmax(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    place = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns, other=float("-inf"))
        largest = tl.maximum(largest, x)
    peak = tl.max(largest, 0)  # wrong: peak = 0.0
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns, other=float("-inf"))
        total += tl.exp(x - peak)
    scale = tl.sum(total, 0)
    for first in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < columns, other=float("-inf"))
        tl.store(y_ptr + start + first + place, tl.exp(x - peak) / scale, mask=first + place < columns)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
    return y
