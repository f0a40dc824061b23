"""A copy of the smallest case with padded, misaligned inputs.

Values are the same. Host code may refuse such inputs. What it accepts has to be computed right, or as if the memory of
some inputs were dense from the first element on (`as_dense`), which is then a property of the candidate.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from kernelwright.model import TensorSpec
from kernelwright.worker.reference.instance import Input, Instance, Specs


def strided(specs: Specs) -> Specs:
    """The same values to be laid out otherwise: every tensor starts one element into its storage and its rows are
    three elements further apart than they are long. A vector stays dense: callers do not pass every second element."""

    def laid(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        stride = [1]
        for position, size in enumerate(reversed(spec.shape[1:])):
            stride.insert(0, stride[0] * (size + (3 if position == 0 else 0)))
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1)

    return replace(specs, inputs=tuple(map(laid, specs.inputs)))


MOST_READ_APART = 4
"""Of more inputs either all are read as dense or none: each reading takes an answer of the reference."""


def readings(specs: Specs) -> list[frozenset[int]]:
    """Which inputs a kernel may read by their strides while it takes the others to be dense, by position: at first
    none of them, never all that are laid out otherwise. specs: of the inputs as they are."""
    made = zip(strided(specs).inputs, specs.inputs, strict=True)
    laid = [position for position, (one, other) in enumerate(made) if one != other]
    some = range(1, len(laid)) if len(laid) <= MOST_READ_APART else ()
    return [frozenset(), *(frozenset(chosen) for count in some for chosen in combinations(laid, count))]


def as_dense(
    instance: Instance, specs: Specs, seed: int, by_strides: Set[int] = frozenset()
) -> tuple[Instance, Instance]:
    """The instance with inputs as a kernel reads them that takes them to be dense, and one whose inputs are the memory.

    specs: how the inputs of `instance` lie in memory. by_strides: those that the kernel reads as they lie. Memory
    between rows holds values of the same input, so that what is read there is an index or a number like any other.
    """
    generator = torch.Generator().manual_seed(seed % (1 << 63))

    def laid(position: int, value: Input, spec: Any) -> tuple[Input, Input]:
        if not isinstance(value, torch.Tensor) or (spec.stride == value.stride() and not spec.offset):
            return value, value
        reach = spec.offset + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.stride, strict=True)) + 1
        order = torch.randint(value.numel(), (reach,), generator=generator).to(value.device)
        memory = value.reshape(-1)[order]
        as_it_lies = memory.as_strided(spec.shape, spec.stride, spec.offset)
        as_it_lies.copy_(value)
        if position in by_strides:
            return as_it_lies, memory
        return memory[spec.offset : spec.offset + value.numel()].view(value.shape), memory

    both = zip(instance.inputs, specs.inputs, strict=True)
    pairs = [laid(position, value, spec) for position, (value, spec) in enumerate(both)]
    return (
        replace(instance, inputs=tuple(dense for dense, _ in pairs)),
        replace(instance, inputs=tuple(memory for _, memory in pairs)),
    )
