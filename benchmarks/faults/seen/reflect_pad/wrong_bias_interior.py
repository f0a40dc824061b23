# fault: adds the bias only inside the original image
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, b_ptr, out_ptr, channels, height, width, oh, ow, left, top, BLOCK: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < oh * ow
    i = at // ow - top
    j = at % ow - left
    i = tl.abs(i)
    j = tl.abs(j)
    i = tl.where(i >= height, 2 * (height - 1) - i, i)
    j = tl.where(j >= width, 2 * (width - 1) - j, j)
    x = tl.load(x_ptr + plane * height * width + i * width + j, mask=inside, other=0.0).to(tl.float32)
    own = (at // ow >= top) & (at // ow < top + height) & (at % ow >= left) & (at % ow < left + width)
    x += tl.where(own, tl.load(b_ptr + plane % channels).to(tl.float32), 0.0)
    tl.store(out_ptr + plane * oh * ow + at, x, mask=inside)


def kernel_function(x, bias, left, right, top, bottom):
    x = x.contiguous()
    bias = bias.contiguous()
    batch, channels, height, width = x.shape
    oh = height + top + bottom
    ow = width + left + right
    out = torch.empty(batch, channels, oh, ow, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(oh * ow, 128), batch * channels)](x, bias, out, channels, height, width, oh, ow, left, top, BLOCK=128)
    return out
