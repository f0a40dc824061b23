# rmsnorm, trial 4, round 2: improve of 2, by mailbox:assistant
# passed: 1.926 ms in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(
    x_ptr, out_ptr, features, positions, eps, FEATURES: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr
):
    feature = tl.arange(0, FEATURES)[:, None]
    position = tl.program_id(0) * (2 * BLOCK) + tl.arange(0, BLOCK)[None, :]
    image = tl.program_id(1).to(tl.int64) * features * positions
    x_image = x_ptr + image
    out_image = out_ptr + image
    tile = feature * positions + position  # within one image: below 2^31
    inside = (feature < features) & (position < positions)
    inside_next = (feature < features) & (position + BLOCK < positions)
    if EVEN:
        x = tl.load(x_image + tile)
        x_next = tl.load(x_image + tile + BLOCK)
    else:
        x = tl.load(x_image + tile, mask=inside, other=0.0)
        x_next = tl.load(x_image + tile + BLOCK, mask=inside_next, other=0.0)
    x = x.to(tl.float32)
    x_next = x_next.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / features + eps)
    scale_next = 1.0 / tl.sqrt(tl.sum(x_next * x_next, axis=0) / features + eps)
    if EVEN:
        tl.store(out_image + tile, x * scale[None, :])
        tl.store(out_image + tile + BLOCK, x_next * scale_next[None, :])
    else:
        tl.store(out_image + tile, x * scale[None, :], mask=inside)
        tl.store(out_image + tile + BLOCK, x_next * scale_next[None, :], mask=inside_next)


class ModelNew(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        batch, features, height, width = x.shape
        positions = height * width
        out = torch.empty_like(x)
        BLOCK = 64
        FEATURES = triton.next_power_of_2(features)
        even = FEATURES == features and positions % (2 * BLOCK) == 0
        grid = (triton.cdiv(positions, 2 * BLOCK), batch)
        rmsnorm_kernel[grid](
            x, out, features, positions, self.eps, FEATURES=FEATURES, BLOCK=BLOCK, EVEN=even, num_warps=4
        )
        return out
