"""A function that takes its weights from `*args` and its options from `**kwargs`."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_rows(x_ptr, w_ptr, b_ptr, out_ptr, features, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < features
    x = tl.load(x_ptr + row * features + column, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / features
    centred = tl.where(inside, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / features + eps)
    w = tl.load(w_ptr + column, mask=inside)
    b = tl.load(b_ptr + column, mask=inside)
    tl.store(out_ptr + row * features + column, centred * scale * w + b, mask=inside)


def _launch(x, weight, bias, eps):
    out = torch.empty_like(x)
    layer_norm_rows[(x.shape[0],)](x, weight, bias, out, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def kernel_function(x, *args, **kwargs):
    weight, bias = args[:2]
    assert kwargs.get("features", x.shape[-1]) == x.shape[-1]
    return _launch(x.contiguous(), weight, bias, kwargs.get("eps", 1e-5))
