"""Convolution of one dimension. Wrong: the kernel is reversed."""


@triton.jit
def conv1d(x_ptr, w_ptr, y_ptr, count, C, length, O, out_length, size, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    image, channel, where = place // (O * out_length), place // out_length % O, place % out_length
    acc = tl.zeros((BLOCK,), tl.float32)
    for c in range(0, C):
        for i in range(0, size):
            x = tl.load(x_ptr + (image * C + c) * length + where + i, mask=inside)
            acc += x * tl.load(w_ptr + (channel * C + c) * size + i, mask=inside)  # wrong: acc += x * tl.load(w_ptr + (channel * C + c) * size + size - 1 - i, mask=inside)
    tl.store(y_ptr + place, acc, mask=inside)


def kernel_function(x, weight):
    x = x.contiguous()
    N, C, length = x.shape
    O, _, size = weight.shape
    y = torch.empty(N, O, length - size + 1, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 1024),)
    conv1d[grid](x, weight, y, y.numel(), C, length, O, length - size + 1, size, BLOCK=1024)
    return y
