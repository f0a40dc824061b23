"""Depthwise convolution, one program per BLOCK outputs of one channel.

Idea: outputs of a channel are numbered in memory order; each lane adds up its window, tap by tap, with the
channel's filter as scalars. Neighbouring lanes read neighbouring elements, so the window comes from L1.
Must move: x once and out once (nearly 2 * batch * channels * height * width elements); 2 FLOP per tap and output.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width,
    KERNEL_HEIGHT: tl.constexpr, KERNEL_WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    outputs = out_height * out_width
    output = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = output < outputs
    row = output // out_width
    column = output % out_width
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    x_plane = x_ptr + plane * height * width
    weight_channel = weight_ptr + plane % channels * (KERNEL_HEIGHT * KERNEL_WIDTH)

    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(KERNEL_HEIGHT):
        for j in tl.static_range(KERNEL_WIDTH):
            # Without padding the window of an output that exists is always inside x.
            x = tl.load(x_plane + (row + i) * width + column + j, mask=inside, other=0.0).to(tl.float32)
            acc += x * tl.load(weight_channel + i * KERNEL_WIDTH + j).to(tl.float32)
    tl.store(out_ptr + plane * outputs + output, acc, mask=inside)


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    kernel_height = conv_weight.shape[2]
    kernel_width = conv_weight.shape[3]
    out_height = height - kernel_height + 1
    out_width = width - kernel_width + 1
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    BLOCK = 1024
    grid = (triton.cdiv(out_height * out_width, BLOCK), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width,
        KERNEL_HEIGHT=kernel_height, KERNEL_WIDTH=kernel_width, BLOCK=BLOCK, num_warps=4,
    )  # fmt: skip
    return out
