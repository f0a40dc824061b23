# problem: softmax
# style: constants computed by heuristics from the arguments

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["cols"]),
        "EVEN": lambda args: args["cols"] == triton.next_power_of_2(args["cols"]),
    }
)
@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + row * cols + lanes)
    else:
        x = tl.load(x_ptr + row * cols + lanes, mask=lanes < cols, other=-float("inf"))
    y = tl.softmax(x)
    if EVEN:
        tl.store(y_ptr + row * cols + lanes, y)
    else:
        tl.store(y_ptr + row * cols + lanes, y, mask=lanes < cols)


def kernel_function(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1])
    return y
