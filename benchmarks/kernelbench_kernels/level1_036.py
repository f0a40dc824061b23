"""RMS norm over channels. Wrong: another epsilon."""


@triton.jit
def rms_norm(x_ptr, y_ptr, channels, area, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * channels * area
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), tl.float32)
    for channel in range(0, channels):
        x = tl.load(x_ptr + start + channel * area + place, mask=place < area, other=0.0)
        squares += x * x
    rms = tl.sqrt(squares / channels + 1e-5)  # wrong: rms = tl.sqrt(squares / channels + 1e-6)
    for channel in range(0, channels):
        x = tl.load(x_ptr + start + channel * area + place, mask=place < area)
        tl.store(y_ptr + start + channel * area + place, x / rms, mask=place < area)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    area = x.shape[2] * x.shape[3]
    rms_norm[(x.shape[0], triton.cdiv(area, 256))](x, y, x.shape[1], area, BLOCK=256)
    return y
