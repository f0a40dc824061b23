# rmsnorm, trial 3, round 2: improve of 1, by mailbox:assistant
# passed: 1.847 ms in the search
# confirmation passed: 1.857 ms
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(
    x_ptr, out_ptr, features, positions, eps, FEATURES: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr
):
    feature = tl.arange(0, FEATURES)[:, None]
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    image = tl.program_id(1).to(tl.int64) * features * positions
    x_image = x_ptr + image
    out_image = out_ptr + image
    tile = feature * positions + position  # within one image: below 2^31
    if EVEN:
        x = tl.load(x_image + tile, eviction_policy="evict_first").to(tl.float32)
    else:
        inside = (feature < features) & (position < positions)
        x = tl.load(x_image + tile, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x * x, axis=0) / features
    scale = 1.0 / tl.sqrt(mean + eps)
    y = x * scale[None, :]
    if EVEN:
        tl.store(out_image + tile, y, eviction_policy="evict_first")
    else:
        tl.store(out_image + tile, y, mask=(feature < features) & (position < positions))


class ModelNew(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        batch, features, height, width = x.shape
        positions = height * width
        out = torch.empty_like(x)
        BLOCK = 128
        FEATURES = triton.next_power_of_2(features)
        even = FEATURES == features and positions % BLOCK == 0
        grid = (triton.cdiv(positions, BLOCK), batch)
        rmsnorm_kernel[grid](
            x, out, features, positions, self.eps, FEATURES=FEATURES, BLOCK=BLOCK, EVEN=even, num_warps=2
        )
        return out
