"""Three-dimensional max-pooling whose window is dilated: 27 elements, 3 apart, read for every output."""

import torch
import torch.nn as nn

KERNEL_SIZE, STRIDE, PADDING, DILATION = 3, 2, 1, 3


class Model(nn.Module):
    """x: (batch, channels, depth, height, width)."""

    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool3d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.pool(x)


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="16x32x128x128x128_bf16", dtype="bfloat16", batch=16, channels=32, depth=128, height=128, width=128),
    dict(name="3x5x33x47x65_fp32", dtype="float32", held_out=True, batch=3, channels=5, depth=33, height=47, width=65),
    dict(
        name="2x7x64x31x100_fp16", dtype="float16", held_out=True, batch=2, channels=7, depth=64, height=31, width=100
    ),
    dict(name="1x2x9x10x11_fp32", dtype="float32", small=True, batch=1, channels=2, depth=9, height=10, width=11),
    dict(name="2x1x21x20x19_fp16", dtype="float16", small=True, batch=2, channels=1, depth=21, height=20, width=19),
]


def get_inputs(batch=16, channels=32, depth=128, height=128, width=128):
    return [torch.randn(batch, channels, depth, height, width)]


def get_init_inputs():
    return [KERNEL_SIZE, STRIDE, PADDING, DILATION]


def work(batch, channels, depth, height, width, dtype):
    """Fewer bytes than all of x: index 0, and the last ones that no window reaches, are never read. A window of n
    elements takes n - 1 comparisons."""
    reads, touched, written = 1, 1, 1
    for size in (depth, height, width):
        outputs = (size + 2 * PADDING - DILATION * (KERNEL_SIZE - 1) - 1) // STRIDE + 1
        windows = (STRIDE * o - PADDING + DILATION * k for o in range(outputs) for k in range(KERNEL_SIZE))
        inside = [index for index in windows if 0 <= index < size]
        reads *= len(inside)
        touched *= len(set(inside))
        written *= outputs
    itemsize = 4 if dtype == "float32" else 2
    planes = batch * channels
    return {"bytes": planes * (touched + written) * itemsize, "flop": planes * (reads - written)}
