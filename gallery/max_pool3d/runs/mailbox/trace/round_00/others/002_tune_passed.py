# max_pool3d, trial 2, round 0: tune of 0, by builtin
# passed: 2.875 ms in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK=512, max_pool3d_kernel.num_stages=2, max_pool3d_kernel.num_warps=2

"""Max-pooling in three dimensions, one program per BLOCK outputs of one channel.

Idea: outputs of a channel are numbered in memory order; each lane finds its corner of the input and takes the
maximum over the window with strided loads, padding read as -inf.
Must move: x nearly once and out once (batch * channels * (depth*height*width + outputs) elements); the window
makes kernel_size^3 loads of it per output, which caches have to absorb.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def max_pool3d_kernel(
    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width,
    KERNEL_SIZE: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr, DILATION: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    outputs = out_depth * out_height * out_width
    output = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = output < outputs
    channel = tl.program_id(1).to(tl.int64)
    x_channel = x_ptr + channel * depth * height * width
    corner_d = output // (out_height * out_width) * STRIDE - PADDING
    corner_h = output // out_width % out_height * STRIDE - PADDING
    corner_w = output % out_width * STRIDE - PADDING

    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for tap in tl.static_range(KERNEL_SIZE * KERNEL_SIZE * KERNEL_SIZE):
        d = corner_d + tap // (KERNEL_SIZE * KERNEL_SIZE) * DILATION
        h = corner_h + tap // KERNEL_SIZE % KERNEL_SIZE * DILATION
        w = corner_w + tap % KERNEL_SIZE * DILATION
        there = inside & (d >= 0) & (d < depth) & (h >= 0) & (h < height) & (w >= 0) & (w < width)
        x = tl.load(x_channel + (d * height + h) * width + w, mask=there, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, x, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + channel * outputs + output, largest, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x):
        x = x.contiguous()
        batch, channels, depth, height, width = x.shape
        reach = self.dilation * (self.kernel_size - 1) + 1 - 2 * self.padding
        out_depth = (depth - reach) // self.stride + 1
        out_height = (height - reach) // self.stride + 1
        out_width = (width - reach) // self.stride + 1
        out = torch.empty((batch, channels, out_depth, out_height, out_width), dtype=x.dtype, device=x.device)
        BLOCK = 512
        grid = (triton.cdiv(out_depth * out_height * out_width, BLOCK), batch * channels)
        max_pool3d_kernel[grid](
            x, out, depth, height, width, out_depth, out_height, out_width,
            KERNEL_SIZE=self.kernel_size, STRIDE=self.stride, PADDING=self.padding, DILATION=self.dilation,
            BLOCK=BLOCK, num_warps=2, num_stages=2,
        )  # fmt: skip
        return out
