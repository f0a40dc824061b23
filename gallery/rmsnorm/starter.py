"""RMSNorm over channels, one program per BLOCK neighbouring positions of one image.

Idea: positions are contiguous, channels are not, so a program reads whole lines of positions, channel by channel:
once for the sum of squares, once more (from cache, where it fits) to scale and write.
Must move: 2 * batch * features * height * width elements (x once, out once); about 4 FLOP per element.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, out_ptr, features, positions, eps, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = position < positions
    image = tl.program_id(1).to(tl.int64) * features * positions  # passes 2^31 - 1 in the largest case
    total = tl.zeros((BLOCK,), tl.float32)
    for feature in range(0, features):
        x = tl.load(x_ptr + image + feature * positions + position, mask=inside, other=0.0).to(tl.float32)
        total += x * x
    scale = 1.0 / tl.sqrt(total / features + eps)
    for feature in range(0, features):
        x = tl.load(x_ptr + image + feature * positions + position, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_ptr + image + feature * positions + position, x * scale, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        batch, features, height, width = x.shape
        positions = height * width
        out = torch.empty_like(x)
        BLOCK = 512
        grid = (triton.cdiv(positions, BLOCK), batch)
        rmsnorm_kernel[grid](x, out, features, positions, self.eps, BLOCK=BLOCK, num_warps=4)
        return out
