# fault: the running maximum starts at -1e4 with index 0, so values below it are missed
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    x_ptr, out_ptr, index_ptr, height, width, out_height, out_width, stride, padding, dilation,
    WINDOW: tl.constexpr, BLOCK: tl.constexpr,
):
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < out_height * out_width
    top = at // out_width * stride - padding
    left = at % out_width * stride - padding
    best = tl.full((BLOCK,), -1e4, tl.float32)
    where = tl.zeros((BLOCK,), tl.int32)
    for i in range(WINDOW):
        for j in range(WINDOW):
            h = top + i * dilation
            w = left + j * dilation
            valid = inside & (h >= 0) & (h < height) & (w >= 0) & (w < width)
            x = tl.load(x_ptr + plane * height * width + h * width + w, mask=valid, other=float("-inf")).to(tl.float32)
            better = x > best
            best = tl.where(better, x, best)
            where = tl.where(better, h * width + w, where)
    offset = plane * out_height * out_width + at
    tl.store(out_ptr + offset, best, mask=inside)
    tl.store(index_ptr + offset, where.to(tl.int64), mask=inside)


def kernel_function(x, window, stride, padding, dilation):
    x = x.contiguous()
    batch, channels, height, width = x.shape
    out_height = (height + 2 * padding - dilation * (window - 1) - 1) // stride + 1
    out_width = (width + 2 * padding - dilation * (window - 1) - 1) // stride + 1
    out = torch.empty(batch, channels, out_height, out_width, dtype=x.dtype, device=x.device)
    indices = torch.empty(batch, channels, out_height, out_width, dtype=torch.int64, device=x.device)
    kernel[(triton.cdiv(out_height * out_width, 128), batch * channels)](
        x, out, indices, height, width, out_height, out_width, stride, padding, dilation, WINDOW=window, BLOCK=128
    )
    return out, indices
