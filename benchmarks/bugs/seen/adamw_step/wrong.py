# Epsilon is added before the bias of the second moment is corrected: github.com/karpathy/nanochat/pull/353
"""AdamW's update, one block per program."""

import math

import triton
import triton.language as tl


@triton.jit
def step_kernel(
    parameter_ptr, grad_ptr, moment1_ptr, moment2_ptr,
    count, keep, rate, correction, beta1, rest1, beta2, rest2, epsilon, BLOCK: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    grad = tl.load(grad_ptr + place, mask=inside).to(tl.float32)
    moment1 = beta1 * tl.load(moment1_ptr + place, mask=inside).to(tl.float32) + rest1 * grad
    moment2 = beta2 * tl.load(moment2_ptr + place, mask=inside).to(tl.float32) + rest2 * grad * grad
    parameter = tl.load(parameter_ptr + place, mask=inside).to(tl.float32) * keep
    parameter -= rate * correction * moment1 / (tl.sqrt(moment2) + epsilon)
    tl.store(moment1_ptr + place, moment1, mask=inside)
    tl.store(moment2_ptr + place, moment2, mask=inside)
    tl.store(parameter_ptr + place, parameter, mask=inside)


def kernel_function(parameter, grad, moment1, moment2):
    assert all(x.is_contiguous() for x in (parameter, grad, moment1, moment2))
    count, step = parameter.numel(), 3
    correction = math.sqrt(1 - 0.999**step)
    rate = 1e-3 / (1 - 0.9**step)
    step_kernel[(triton.cdiv(count, 1024),)](
        parameter, grad, moment1, moment2,
        count, 1 - 1e-3 * 0.01, rate, correction, 0.9, 1 - 0.9, 0.999, 1 - 0.999, 1e-8, BLOCK=1024,
    )  # fmt: skip
