"""The wrapper pads with -inf, the kernel reads strided windows without masks on its input."""

import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def windows(x_ptr, y_ptr, W, OH, OW, plane_size, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    plane, oh = pid // OH, pid % OH
    ow = tl.arange(0, BLOCK)
    inside = ow < OW
    base = x_ptr + plane * plane_size + oh * 2 * W + ow * 2
    best = tl.load(base, mask=inside)
    for i in range(3):
        for j in range(3):
            x = tl.load(base + i * W + j, mask=inside)
            best = tl.where((x > best) | (x != x), x, best)
    tl.store(y_ptr + (plane * OH + oh) * OW + ow, best, mask=inside)


def kernel_function(x):
    n, c, h, w = x.shape
    oh, ow = (h - 1) // 2 + 1, (w - 1) // 2 + 1
    p = F.pad(x, (1, 2, 1, 2), value=float("-inf"))
    y = x.new_empty(n, c, oh, ow)
    windows[(n * c * oh,)](p, y, p.shape[3], oh, ow, p.shape[2] * p.shape[3], BLOCK=triton.next_power_of_2(ow))
    return y
