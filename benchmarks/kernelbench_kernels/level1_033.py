"""Batch norm with running statistics. Wrong: epsilon is added to the deviation, not to the variance."""


@triton.jit
def batch_norm(x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, count, channels, area, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = place // area % channels
    x = tl.load(x_ptr + place, mask=place < count)
    variance = tl.load(var_ptr + channel)
    deviation = tl.sqrt(variance + 1e-5)  # wrong: deviation = tl.sqrt(variance) + 1e-5
    y = (x - tl.load(mean_ptr + channel)) / deviation
    y = y * tl.load(w_ptr + channel) + tl.load(b_ptr + channel)
    tl.store(y_ptr + place, y, mask=place < count)


def kernel_function(x, bn_running_mean, bn_running_var, bn_weight, bn_bias):
    x = x.contiguous()
    y = torch.empty_like(x)
    area = x.shape[2] * x.shape[3]
    grid = (triton.cdiv(x.numel(), 1024),)
    batch_norm[grid](
        x, bn_running_mean, bn_running_var, bn_weight, bn_bias, y, x.numel(), x.shape[1], area, BLOCK=1024
    )
    return y
