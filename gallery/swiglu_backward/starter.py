"""SwiGLU and its backward, a kernel each, one element after another.

Idea: the backward reads gate and up again and computes the sigmoid anew, so nothing is saved.
Must move: gate, up and the gradient of out read, out and two gradients written: 6 * tokens * width elements.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + i, gate * tl.sigmoid(gate) * up, mask=i < n)


@triton.jit
def backward_kernel(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    grad = tl.load(grad_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    sigmoid = tl.sigmoid(gate)
    tl.store(grad_gate_ptr + i, grad * up * sigmoid * (1.0 + gate * (1.0 - sigmoid)), mask=i < n)
    tl.store(grad_up_ptr + i, grad * gate * sigmoid, mask=i < n)


def kernel_function(gate, up):
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    n = gate.numel()
    BLOCK = 256
    forward_kernel[(triton.cdiv(n, BLOCK),)](gate, up, out, n, BLOCK=BLOCK)
    return out


def kernel_backward(grad_0, gate, up):
    grad_0, gate, up = grad_0.contiguous(), gate.contiguous(), up.contiguous()
    grad_gate, grad_up = torch.empty_like(gate), torch.empty_like(up)
    n = gate.numel()
    BLOCK = 256
    backward_kernel[(triton.cdiv(n, BLOCK),)](grad_0, gate, up, grad_gate, grad_up, n, BLOCK=BLOCK)
    return grad_gate, grad_up
