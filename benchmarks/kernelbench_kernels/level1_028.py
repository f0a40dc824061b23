"""Hard sigmoid. Wrong: another library's slope, 1/5."""


@triton.jit
def elementwise(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < count)
    y = tl.minimum(tl.maximum(x / 6.0 + 0.5, 0.0), 1.0)  # wrong: y = tl.minimum(tl.maximum(x / 5.0 + 0.5, 0.0), 1.0)
    tl.store(y_ptr + place, y, mask=place < count)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
