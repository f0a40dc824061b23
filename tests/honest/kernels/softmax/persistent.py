"""As many programs as multiprocessors, each walking over rows; a software-pipelined loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def persistent_softmax(x_ptr, y_ptr, rows, cols, num_stages: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        x = tl.load(x_ptr + row * cols + lanes, mask=lanes < cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * cols + lanes, e / tl.sum(e, axis=0), mask=lanes < cols)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    rows, cols = x.shape
    with torch.cuda.device(x.device):
        count = torch.cuda.get_device_properties(x.device).multi_processor_count
        programs = min(rows, 4 * count)
        persistent_softmax[(programs,)](x, y, rows, cols, num_stages=2, BLOCK=triton.next_power_of_2(cols))
    return y
