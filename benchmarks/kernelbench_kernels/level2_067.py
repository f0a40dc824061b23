"""Convolution, GELU, mean of each image. Wrong: the mean over the input's places, not the output's."""


@triton.jit
def conv_mean(x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, O, OH, OW, SIZE: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    image, channel = tl.program_id(0), tl.arange(0, CHANNELS)
    known = channel < O
    total = tl.zeros((CHANNELS,), tl.float32)
    for first in range(0, OH * OW, BLOCK):
        place = first + tl.arange(0, BLOCK)
        inside = place < OH * OW
        y = tl.zeros((CHANNELS, BLOCK), tl.float32) + tl.load(b_ptr + channel, mask=known)[:, None]
        for tap in range(0, C * SIZE * SIZE):
            c, i, j = tap // (SIZE * SIZE), tap // SIZE % SIZE, tap % SIZE
            x = tl.load(x_ptr + ((image * C + c) * H + place // OW + i) * W + place % OW + j, mask=inside)
            y += x[None, :] * tl.load(w_ptr + channel * C * SIZE * SIZE + tap, mask=known)[:, None]
        total += tl.sum(tl.where(inside[None, :], gelu(y), 0.0), 1)
    mean = total / (OH * OW)  # wrong: mean = total / (H * W)
    tl.store(y_ptr + image * O + channel, mean, mask=known)


def kernel_function(x, weight, bias):
    x = x.contiguous()
    (N, C, H, W), (O, _, size, _) = x.shape, weight.shape
    y = torch.empty(N, O, device=x.device, dtype=x.dtype)
    sizes = (C, H, W, O, H - size + 1, W - size + 1)
    conv_mean[(N,)](x, weight, bias, y, *sizes, SIZE=size, CHANNELS=triton.next_power_of_2(O), BLOCK=64)
    return y
