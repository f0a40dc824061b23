"""SELU. Wrong: ELU without the scale."""


@triton.jit
def elementwise(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < count)
    y = 1.0507009873554805 * tl.where(x > 0, x, 1.6732632423543772 * libdevice.expm1(x))  # wrong: y = tl.where(x > 0, x, 1.6732632423543772 * libdevice.expm1(x))
    tl.store(y_ptr + place, y, mask=place < count)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    elementwise[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
