import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, inner, outer, height, width, oh, ow, stride, padding, dilation, per_in, per_out,
    KH: tl.constexpr, KW: tl.constexpr, BLOCK: tl.constexpr,
):
    channel = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < oh * ow
    top = at // ow * stride - padding
    left = at % ow * stride - padding
    group = channel // per_out
    acc = tl.zeros((BLOCK,), tl.float32)
    for c in range(0, per_in):
        plane = (batch * inner + group * per_in + c) * height * width
        for i in range(KH):
            for j in range(KW):
                h = top + i * dilation
                w = left + j * dilation
                ok = inside & (h >= 0) & (h < height) & (w >= 0) & (w < width)
                x = tl.load(x_ptr + plane + h * width + w, mask=ok, other=0.0).to(tl.float32)
                acc += x * tl.load(w_ptr + ((channel * per_in + c) * KH + i) * KW + j).to(tl.float32)
    acc += tl.load(b_ptr + channel).to(tl.float32)
    tl.store(out_ptr + (batch * outer + channel) * oh * ow + at, acc, mask=inside)


def kernel_function(x, weight, bias, stride, padding, dilation, groups):
    x = x.contiguous()
    weight = weight.contiguous()
    batch, inner, height, width = x.shape
    outer, per_in, kh, kw = weight.shape
    oh = (height + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    ow = (width + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    out = torch.empty(batch, outer, oh, ow, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(oh * ow, 128), outer, batch)](
        x, weight, bias, out, inner, outer, height, width, oh, ow, stride, padding, dilation, per_in, outer // groups,
        KH=kh, KW=kw, BLOCK=128,
    )
    return out
