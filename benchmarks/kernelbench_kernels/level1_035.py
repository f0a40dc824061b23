"""Group norm, a program for each group. Wrong: one weight and bias for a group."""


@triton.jit
def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, area, size, groups, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * size
    group = tl.program_id(0) % groups
    place = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, size, BLOCK):
        total += tl.load(x_ptr + start + first + place, mask=first + place < size, other=0.0)
    mean = tl.sum(total, 0) / size
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, size, BLOCK):
        x = tl.load(x_ptr + start + first + place, mask=first + place < size, other=0.0)
        squares += tl.where(first + place < size, (x - mean) * (x - mean), 0.0)
    scale = tl.rsqrt(tl.sum(squares, 0) / size + 1e-5)
    for first in range(0, size, BLOCK):
        inside = first + place < size
        channel = (group * size + first + place) // area  # wrong: channel = group + first * place * 0
        x = tl.load(x_ptr + start + first + place, mask=inside)
        y = (x - mean) * scale * tl.load(w_ptr + channel, mask=inside) + tl.load(b_ptr + channel, mask=inside)
        tl.store(y_ptr + start + first + place, y, mask=inside)


def kernel_function(x, gn_weight, gn_bias, num_groups):
    x = x.contiguous()
    y = torch.empty_like(x)
    area = x.shape[2] * x.shape[3]
    size = area * x.shape[1] // num_groups
    group_norm[(x.shape[0] * num_groups,)](x, gn_weight, gn_bias, y, area, size, num_groups, BLOCK=128)
    return y
