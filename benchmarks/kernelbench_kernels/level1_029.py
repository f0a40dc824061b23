"""Softplus. Wrong: overflows for large inputs."""


@triton.jit
def elementwise(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < count)
    y = tl.maximum(x, 0.0) + libdevice.log1p(tl.exp(-tl.abs(x)))  # wrong: y = tl.log(1.0 + tl.exp(x))
    tl.store(y_ptr + place, y, mask=place < count)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
