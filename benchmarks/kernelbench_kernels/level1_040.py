"""Layer norm over all but the batch. Wrong: the bias is left out."""


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, size, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * size
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
        y = (tl.load(x_ptr + start + first + place, mask=inside) - mean) * scale
        y *= tl.load(w_ptr + first + place, mask=inside)
        y += tl.load(b_ptr + first + place, mask=inside)  # wrong: pass
        tl.store(y_ptr + start + first + place, y, mask=inside)


def kernel_function(x, ln_weight, ln_bias):
    x = x.contiguous()
    y = torch.empty_like(x)
    layer_norm[(x.shape[0],)](x, ln_weight, ln_bias, y, x.numel() // x.shape[0], BLOCK=256)
    return y
