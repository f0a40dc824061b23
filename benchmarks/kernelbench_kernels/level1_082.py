"""Depthwise convolution. Wrong: rows and columns of the kernel are swapped."""


@triton.jit
def depthwise(x_ptr, w_ptr, y_ptr, count, C, H, W, OH, OW, size, stride, padding, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    image, row, column = place // (OH * OW), place // OW % OH, place % OW
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, size):
        for j in range(0, size):
            h, w = row * stride - padding + i, column * stride - padding + j
            inside = (place < count) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            x = tl.load(x_ptr + image * H * W + h * W + w, mask=inside, other=0.0)
            acc += x * tl.load(w_ptr + (image % C * size + i) * size + j)  # wrong: acc += x * tl.load(w_ptr + (image % C * size + j) * size + i)
    tl.store(y_ptr + place, acc, mask=place < count)


def kernel_function(x, weight, kernel_size, stride, padding):
    x = x.contiguous()
    N, C, H, W = x.shape
    OH, OW = (H + 2 * padding - kernel_size) // stride + 1, (W + 2 * padding - kernel_size) // stride + 1
    y = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 1024),)
    depthwise[grid](x, weight, y, y.numel(), C, H, W, OH, OW, kernel_size, stride, padding, BLOCK=1024)
    return y
