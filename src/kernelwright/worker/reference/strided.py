"""Copies of the smallest case with other layouts of the inputs: padded and misaligned, or with nothing adjacent.

The values are the same. Host code may refuse such inputs. If it accepts them, the result has to be right. It may also
be right for a reading that takes the memory of some inputs as dense from their first element (`as_dense`); the report
then says that the candidate serves dense inputs only.
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
    """`specs` with padded layouts: every tensor starts one element into its storage, and its rows are three elements
    further apart than they are long. The elements of a vector stay adjacent: callers do not pass every second one."""

    def laid(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        stride = [1]
        for position, size in enumerate(reversed(spec.shape[1:])):
            stride.insert(0, stride[0] * (size + (3 if position == 0 else 0)))
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1)

    return replace(specs, inputs=tuple(map(laid, specs.inputs)))


def apart(specs: Specs) -> Specs:
    """`specs` with layouts that share nothing with dense ones: no two elements are adjacent, dimensions lie in another
    order with gaps between them, and each input has its own layout. For problems that state LAYOUTS = "any"."""

    def laid(position: int, spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        places = range(len(spec.shape))
        order = sorted(places, key=lambda place: (place + position) % len(spec.shape))  # innermost first
        stride, step = [0] * len(spec.shape), 2 + position
        for place in order:
            stride[place], step = step, step * spec.shape[place] + 1 + position
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1 + position)

    return replace(specs, inputs=tuple(laid(position, spec) for position, spec in enumerate(specs.inputs)))


def in_own_memory(instance: Instance) -> Instance:
    """The instance with its inputs copied out of padded memory. PyTorch's flash attention loads vectors from any
    address; a misaligned one ends the CUDA context, and the judge with it."""
    inputs = (value.clone(memory_format=torch.contiguous_format) if isinstance(value, torch.Tensor) else value
              for value in instance.inputs)  # fmt: skip
    return replace(instance, inputs=tuple(inputs))


MOST_READ_APART = 4
"""With more padded inputs, only the reading that takes all of them as dense is tried, because each reading takes a run
of the reference."""


def readings(specs: Specs) -> list[frozenset[int]]:
    """The readings to try: for each, the positions of the inputs that a kernel reads by their strides while it takes
    the others as dense. The first reading is empty. None has all padded inputs, as that is the right way to read them.
    specs: before padding."""
    made = zip(strided(specs).inputs, specs.inputs, strict=True)
    laid = [position for position, (one, other) in enumerate(made) if one != other]
    some = range(1, len(laid)) if len(laid) <= MOST_READ_APART else ()
    return [frozenset(), *(frozenset(chosen) for count in some for chosen in combinations(laid, count))]


def as_dense(
    instance: Instance, specs: Specs, seed: int, by_strides: Set[int] = frozenset()
) -> tuple[Instance, Instance]:
    """Two instances: one whose inputs are the values that a kernel reads if it takes inputs as dense, and one whose
    padded inputs are the whole memory, in one dimension.

    specs: the padded layouts. by_strides: positions of the inputs that the kernel reads by their strides. The padding
    holds values of the same input, so that a kernel that reads it gets valid indices and ordinary numbers.
    """
    generator = torch.Generator().manual_seed(seed % (1 << 63))

    def laid(position: int, value: Input, spec: Any) -> tuple[Input, Input]:
        if not isinstance(value, torch.Tensor) or (spec.stride == value.stride() and not spec.offset):
            return value, value
        reach = spec.offset + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.stride, strict=True)) + 1
        order = torch.randint(value.numel(), (reach,), generator=generator).to(value.device)
        memory = value.reshape(-1)[order]
        whole = memory.as_strided(spec.shape, spec.stride, spec.offset)
        whole.copy_(value)
        if position in by_strides:
            return whole, memory
        return memory[spec.offset : spec.offset + value.numel()].view(value.shape), memory

    both = zip(instance.inputs, specs.inputs, strict=True)
    pairs = [laid(position, value, spec) for position, (value, spec) in enumerate(both)]
    return (
        replace(instance, inputs=tuple(dense for dense, _ in pairs)),
        replace(instance, inputs=tuple(memory for _, memory in pairs)),
    )
