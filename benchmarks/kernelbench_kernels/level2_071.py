"""Convolution, divide, leaky ReLU. Wrong: the slope is 0.1."""


@triton.jit
def conv2d(x_ptr, w_ptr, b_ptr, y_ptr, count, C, H, W, O, OH, OW, size, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    image, channel, row, column = place // (O * OH * OW), place // (OH * OW) % O, place // OW % OH, place % OW
    y = tl.load(b_ptr + channel)
    for c in range(0, C):
        for i in range(0, size):
            for j in range(0, size):
                x = tl.load(x_ptr + ((image * C + c) * H + row + i) * W + column + j, mask=inside)
                y += x * tl.load(w_ptr + ((channel * C + c) * size + i) * size + j)
    y = y / 2.0
    y = tl.where(y > 0, y, y * 0.01)  # wrong: y = tl.where(y > 0, y, y * 0.1)
    tl.store(y_ptr + place, y, mask=inside)


def kernel_function(x, conv_weight, conv_bias):
    x = x.contiguous()
    (N, C, H, W), (O, _, size, _) = x.shape, conv_weight.shape
    y = torch.empty(N, O, H - size + 1, W - size + 1, device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(y.numel(), 512),)
    conv2d[grid](
        x, conv_weight, conv_bias, y, y.numel(), C, H, W, O, y.shape[2], y.shape[3], size, BLOCK=512
    )
    return y
