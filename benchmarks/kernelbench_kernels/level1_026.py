"""GELU. Wrong: its tanh approximation."""


@triton.jit
def elementwise(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < count)
    y = gelu(x)  # wrong: y = 0.5 * x * (1.0 + libdevice.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    tl.store(y_ptr + place, y, mask=place < count)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
