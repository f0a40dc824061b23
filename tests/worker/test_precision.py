"""Honest arithmetic passes and lower precision does not, for what kernels really do: sums, products, softmax.

The framework's own error is measured as the judge does it; candidates are written in PyTorch, rounding where a kernel
would round.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kernelwright.worker.judge import tolerance

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32

Compute = Callable[..., Tensor]


def verdict(
    reference: Compute, candidate: Compute, dtype: torch.dtype, reduction: int, *shapes: tuple[int, ...]
) -> str:
    """What the tolerance says of `candidate` where `reference` is the framework's way, on two seeds."""
    own, found = [], []
    for seed in (1, 2):
        generator = torch.Generator().manual_seed(seed)
        inputs = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
        expected = reference(*(x.double() for x in inputs))
        own.append(tolerance.errors(reference(*inputs), expected))
        found.append(tolerance.errors(candidate(*inputs).to(dtype), expected))
    limit = tolerance.allowed(own, dtype, reduction)
    return next((why for one in found if (why := tolerance.verdict(one, limit))), "")


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def staged(dtype: torch.dtype) -> Compute:
    """Softmax whose exponentials are kept in `dtype`."""

    def candidate(x: Tensor) -> Tensor:
        e = torch.exp(x.float() - x.float().amax(-1, keepdim=True)).to(dtype).float()
        return e / e.sum(-1, keepdim=True)

    return candidate


def online(x: Tensor) -> Tensor:
    """Softmax with a running maximum and sum over blocks of 64, by powers of two."""
    x = x.float() * 1.4426950408889634
    largest = torch.full((x.shape[0], 1), -torch.inf)
    total = torch.zeros((x.shape[0], 1))
    for block in x.split(64, -1):
        new = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total * torch.exp2(largest - new) + torch.exp2(block - new).sum(-1, keepdim=True)
        largest = new
    return torch.exp2(x - largest) / total


def truncated(x: Tensor, bits: int) -> Tensor:
    """x with the last `bits` of its mantissa cut off."""
    return (x.view(torch.int32) & -(1 << bits)).view(F32)


def product(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def blocked(a: Tensor, b: Tensor, step: int = 32, acc: torch.dtype = F32) -> Tensor:
    """A product that is added up over blocks of the inner dimension, in `acc`."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=acc)
    for k in range(0, a.shape[1], step):
        total = total + (a[:, k : k + step].float() @ b[k : k + step].float()).to(acc)
    return total


def sequential(x: Tensor, acc: torch.dtype = F32) -> Tensor:
    """Row sums term by term, the worst order there is."""
    total = torch.zeros(x.shape[0], dtype=acc)
    for column in x.unbind(-1):
        total = total + column.to(acc)
    return total


def row_sums(x: Tensor) -> Tensor:
    return x.sum(-1)


HONEST = {
    "softmax online in fp32": (softmax, online, F32, 1000, (16, 1000)),
    "softmax in two passes": (softmax, staged(F32), F32, 1000, (16, 1000)),
    "fp16 softmax in fp32 inside": (softmax, online, F16, 1000, (16, 1000)),
    "bf16 softmax in fp32 inside": (softmax, online, BF16, 1000, (16, 1000)),
    "a product in blocks": (product, blocked, F32, 777, (40, 777), (777, 30)),
    "a product in large blocks": (product, lambda a, b: blocked(a, b, 256), F32, 777, (40, 777), (777, 30)),
    "a bf16 product added up in fp32": (product, blocked, BF16, 777, (40, 777), (777, 30)),
    "an fp16 product added up in fp32": (product, blocked, F16, 777, (40, 777), (777, 30)),
    "sums term by term": (row_sums, sequential, F32, 4096, (32, 4096)),
    "bf16 sums in fp32": (row_sums, sequential, BF16, 4096, (32, 4096)),
    "sums in float64": (row_sums, lambda x: x.double().sum(-1), F32, 4096, (32, 4096)),
}


@pytest.mark.parametrize("what", HONEST)
def test_honest_arithmetic_passes(what: str) -> None:
    reference, candidate, dtype, reduction, *shapes = HONEST[what]
    assert verdict(reference, candidate, dtype, reduction, *shapes) == ""


LOW = {
    "exponentials in fp16": (softmax, staged(F16), F32, 1000, (16, 1000)),
    "exponentials in bf16": (softmax, staged(BF16), F32, 1000, (16, 1000)),
    "TF32 operands": (product, lambda a, b: truncated(a, 13) @ truncated(b, 13), F32, 777, (40, 777), (777, 30)),
    "fp16 operands": (product, lambda a, b: a.half().float() @ b.half().float(), F32, 777, (40, 777), (777, 30)),
    "bf16 operands": (
        product,
        lambda a, b: a.bfloat16().float() @ b.bfloat16().float(),
        F32,
        777,
        (40, 777),
        (777, 30),
    ),
    "a product added up in fp16": (product, lambda a, b: blocked(a, b, 32, F16), F16, 777, (40, 777), (777, 30)),
    "a product added up in bf16": (product, lambda a, b: blocked(a, b, 32, BF16), BF16, 777, (40, 777), (777, 30)),
    "sums in bf16": (row_sums, lambda x: sequential(x, BF16), BF16, 4096, (32, 4096)),
    "sums in fp16": (row_sums, lambda x: sequential(x, F16), F16, 4096, (32, 4096)),
    "an output rounded to fp16": (row_sums, lambda x: x.sum(-1).half(), F32, 4096, (32, 4096)),
    "one term left out": (row_sums, lambda x: x[:, 1:].sum(-1), F32, 4096, (32, 4096)),
}


@pytest.mark.parametrize("what", LOW)
def test_lower_precision_does_not_pass(what: str) -> None:
    reference, candidate, dtype, reduction, *shapes = LOW[what]
    assert "error" in verdict(reference, candidate, dtype, reduction, *shapes)
