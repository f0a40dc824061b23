"""SwiGLU and its backward, both in one pass over memory.

Idea: both are elementwise, so only loads and stores count. A program takes BLOCK neighbouring elements, a whole
number of vectors of 16 bytes for each thread, and masks only in the last program: a mask of odd length would cut the
vectors of all programs into single elements. The backward computes the sigmoid anew from gate; a saved one would be
read, too.
Must move: gate, up and the gradient of out read, out and two gradients written: 6 * tokens * width elements. The
backward reads gate and up a second time, 8 in all, where they do not fit the L2 cache: at most 75 % of the bound.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def load(pointer, i, n, MASKED: tl.constexpr):
    value = tl.load(pointer + i, mask=i < n, other=0.0) if MASKED else tl.load(pointer + i)
    return value.to(tl.float32)


@triton.jit
def store(pointer, i, value, n, MASKED: tl.constexpr):
    if MASKED:
        tl.store(pointer + i, value, mask=i < n)
    else:
        tl.store(pointer + i, value)


@triton.jit
def multiply(gate_ptr, up_ptr, out_ptr, i, n, MASKED: tl.constexpr):
    gate, up = load(gate_ptr, i, n, MASKED), load(up_ptr, i, n, MASKED)
    store(out_ptr, i, gate * tl.sigmoid(gate) * up, n, MASKED)


@triton.jit
def differentiate(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, i, n, MASKED: tl.constexpr):
    gate, up, grad = load(gate_ptr, i, n, MASKED), load(up_ptr, i, n, MASKED), load(grad_ptr, i, n, MASKED)
    sigmoid = tl.sigmoid(gate)
    through = grad * sigmoid
    store(grad_gate_ptr, i, through * up * (1.0 + gate * (1.0 - sigmoid)), n, MASKED)
    store(grad_up_ptr, i, through * gate, n, MASKED)


@triton.jit
def forward_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    i = start + tl.arange(0, BLOCK)
    if start + BLOCK <= n:
        multiply(gate_ptr, up_ptr, out_ptr, i, n, MASKED=False)
    else:
        multiply(gate_ptr, up_ptr, out_ptr, i, n, MASKED=True)


@triton.jit
def backward_kernel(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    i = start + tl.arange(0, BLOCK)
    if start + BLOCK <= n:
        differentiate(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, i, n, MASKED=False)
    else:
        differentiate(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, i, n, MASKED=True)


FORWARD_BLOCK = 2048
BACKWARD_BLOCK = 1024
WARPS = 4


def kernel_function(gate, up):
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    n = gate.numel()
    forward_kernel[(triton.cdiv(n, FORWARD_BLOCK),)](gate, up, out, n, BLOCK=FORWARD_BLOCK, num_warps=WARPS)
    return out


def kernel_backward(grad_0, gate, up):
    grad_0, gate, up = grad_0.contiguous(), gate.contiguous(), up.contiguous()
    grad_gate, grad_up = torch.empty_like(gate), torch.empty_like(up)
    n = gate.numel()
    backward_kernel[(triton.cdiv(n, BACKWARD_BLOCK),)](
        grad_0, gate, up, grad_gate, grad_up, n, BLOCK=BACKWARD_BLOCK, num_warps=WARPS
    )
    return grad_gate, grad_up
