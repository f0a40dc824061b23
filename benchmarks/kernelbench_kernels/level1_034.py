"""Instance norm, a program for each image of a channel. Wrong: the variance is divided by one less."""


@triton.jit
def instance_norm(x_ptr, y_ptr, area, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * area
    place = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, area, BLOCK):
        total += tl.load(x_ptr + start + first + place, mask=first + place < area, other=0.0)
    mean = tl.sum(total, 0) / area
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, area, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < area, other=0.0)
        squares += tl.where(first + place < area, (x - mean) * (x - mean), 0.0)
    variance = tl.sum(squares, 0) / area  # wrong: variance = tl.sum(squares, 0) / (area - 1)
    for first in range(0, area, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < area)
        tl.store(y_ptr + start + first + place, (x - mean) * tl.rsqrt(variance + 1e-5), mask=first + place < area)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    instance_norm[(x.shape[0] * x.shape[1],)](x, y, x.shape[2] * x.shape[3], BLOCK=128)
    return y
