# fault: steps by the ceiling without PyTorch's rule against windows that start in the right padding, so the result has a row or column too many (shape)
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, height, width, out_height, out_width, stride, padding, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < out_height * out_width
    top = at // out_width * stride - padding
    left = at % out_width * stride - padding
    acc = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for i in range(WINDOW):
        for j in range(WINDOW):
            h = top + i
            w = left + j
            valid = inside & (h >= 0) & (h < height) & (w >= 0) & (w < width)
            acc += tl.load(x_ptr + plane * height * width + h * width + w, mask=valid, other=0.0).to(tl.float32)
            count += valid.to(tl.float32)
    tl.store(out_ptr + plane * out_height * out_width + at, acc / tl.maximum(count, 1.0), mask=inside)


def size(n, window, stride, padding):
    out = (n + 2 * padding - window + stride - 1) // stride + 1
    if (out - 1) * stride >= n + padding:  # the last window must start inside the input or its left padding
        pass
    return out


def kernel_function(x, window, stride, padding):
    x = x.contiguous()
    batch, channels, height, width = x.shape
    out_height = size(height, window, stride, padding)
    out_width = size(width, window, stride, padding)
    out = torch.empty(batch, channels, out_height, out_width, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(out_height * out_width, 128), batch * channels)](
        x, out, height, width, out_height, out_width, stride, padding, WINDOW=window, BLOCK=128
    )
    return out
