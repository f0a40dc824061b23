"""Mean of each window. Wrong: the padding is not counted."""


@triton.jit
def average_pool(x_ptr, y_ptr, count, length, out_length, size, stride, padding, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    seen = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, size):
        where = place % out_length * stride - padding + i
        inside = (place < count) & (where >= 0) & (where < length)
        total += tl.load(x_ptr + place // out_length * length + where, mask=inside, other=0.0)
        seen += 1.0  # wrong: seen += tl.where(inside, 1.0, 0.0)
    tl.store(y_ptr + place, total / seen, mask=place < count)


def kernel_function(x, kernel_size, stride, padding):
    x = x.contiguous()
    N, C, length = x.shape
    out_length = (length + 2 * padding - kernel_size) // stride + 1
    y = torch.empty(N, C, out_length, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 1024),)
    average_pool[grid](x, y, y.numel(), length, out_length, kernel_size, stride, padding, BLOCK=1024)
    return y
