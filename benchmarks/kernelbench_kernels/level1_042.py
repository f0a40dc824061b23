"""Largest value of each window. Wrong: the padding counts as zeros."""


@triton.jit
def max_pool(x_ptr, y_ptr, count, H, W, OH, OW, size, stride, padding, dilation, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    image, row, column = place // (OH * OW), place // OW % OH, place % OW
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for i in range(0, size):
        for j in range(0, size):
            h, w = row * stride - padding + i * dilation, column * stride - padding + j * dilation
            inside = (place < count) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            x = tl.load(x_ptr + image * H * W + h * W + w, mask=inside, other=float("-inf"))  # wrong: x = tl.load(x_ptr + image * H * W + h * W + w, mask=inside, other=0.0)
            best = tl.maximum(best, x)
    tl.store(y_ptr + place, best, mask=place < count)


def kernel_function(x, kernel_size, stride, padding, dilation):
    x = x.contiguous()
    N, C, H, W = x.shape
    OH = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1
    OW = (W + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 1024),)
    max_pool[grid](x, y, y.numel(), H, W, OH, OW, kernel_size, stride, padding, dilation, BLOCK=1024)
    return y
