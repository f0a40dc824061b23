# max_pool3d, trial 14, round 1: tune of 8, by builtin
# passed: 1.240 ms in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK=64, STEPS_PER_PROGRAM=128, max_pool3d_kernel.num_stages=3, max_pool3d_kernel.num_warps=2

"""Max-pooling in three dimensions, one program per BLOCK outputs of a plane of one channel, marching in depth.

Idea: with stride 2, padding 1 and dilation 3 output o takes the input planes 2o - 1, 2o + 2 and 2o + 5: one even
plane and two odd ones, and of the odd planes each serves output o and output o + 3. So the maxima over height and
width of three odd planes wait in registers, and each step down the depth looks at two planes: 18 loads for an output
instead of 27.
Must move: x nearly once and out once (batch * channels * (depth*height*width + outputs) elements).
Serves: kernel 3, stride 2, padding 1, dilation 3.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def plane_maximum(x_plane, h, w, inside, height, width, BLOCK: tl.constexpr):
    """The maximum over the 3 by 3 elements of a plane, three apart, whose corner is (h, w); -inf outside."""
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for tap in tl.static_range(9):
        row = h + tap // 3 * 3
        column = w + tap % 3 * 3
        there = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        x = tl.load(x_plane + row * width + column, mask=there, other=float("-inf")).to(tl.float32)
        largest = larger(largest, x)
    return largest


@triton.jit
def max_pool3d_kernel(
    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width,
    STEPS_PER_PROGRAM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    outputs = out_height * out_width  # of a plane
    output = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = output < outputs
    channel = tl.program_id(1).to(tl.int64)
    first = tl.program_id(2) * STEPS_PER_PROGRAM  # output plane
    h = output // out_width * 2 - 1
    w = output % out_width * 2 - 1
    plane = height * width
    x_plane = x_ptr + (channel * depth + 2 * first - 1) * plane  # the first odd plane of the window
    oldest = plane_maximum(x_plane, h, w, inside & (first > 0), height, width, BLOCK)
    older = plane_maximum(x_plane + 2 * plane, h, w, inside & (2 * first + 1 < depth), height, width, BLOCK)
    old = plane_maximum(x_plane + 4 * plane, h, w, inside & (2 * first + 3 < depth), height, width, BLOCK)
    out_plane = out_ptr + (channel * out_depth + first) * outputs + output
    for o in range(first, tl.minimum(first + STEPS_PER_PROGRAM, out_depth)):
        even = plane_maximum(x_plane + 3 * plane, h, w, inside & (2 * o + 2 < depth), height, width, BLOCK)
        odd = plane_maximum(x_plane + 6 * plane, h, w, inside & (2 * o + 5 < depth), height, width, BLOCK)
        tl.store(out_plane, larger(larger(oldest, even), odd).to(out_ptr.dtype.element_ty), mask=inside)
        oldest, older, old = older, old, odd
        x_plane += 2 * plane
        out_plane += outputs


class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        if (kernel_size, stride, padding, dilation) != (3, 2, 1, 3):
            raise ValueError("serves only kernel size 3, stride 2, padding 1 and dilation 3")

    def forward(self, x):
        x = x.contiguous()
        batch, channels, depth, height, width = x.shape
        out_depth, out_height, out_width = (depth - 5) // 2 + 1, (height - 5) // 2 + 1, (width - 5) // 2 + 1
        out = torch.empty((batch, channels, out_depth, out_height, out_width), dtype=x.dtype, device=x.device)
        BLOCK = 64
        STEPS_PER_PROGRAM = 128
        grid = (triton.cdiv(out_height * out_width, BLOCK), batch * channels, triton.cdiv(out_depth, STEPS_PER_PROGRAM))
        max_pool3d_kernel[grid](
            x, out, depth, height, width, out_depth, out_height, out_width,
            STEPS_PER_PROGRAM=STEPS_PER_PROGRAM, BLOCK=BLOCK, num_warps=2,
        )  # fmt: skip
        return out
