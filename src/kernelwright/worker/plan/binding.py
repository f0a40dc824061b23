"""Binding of a case to an arena: the window for each input and parameter that a plan uses.

It copies nothing. An expanded dimension (stride 0) has one element in memory, which is written and compared once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from kernelwright.model import Scalar, TensorSpec
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.reference.instance import Instance


def bind_tensors(
    instance: Instance, laid: Sequence[TensorSpec | Scalar | None], plan: Plan, arena: torch.Tensor, layout: Layout
) -> Iterator[tuple[Buffer, torch.Tensor, torch.Tensor]]:
    """(buffer, window in the arena, pristine tensor) of each input and parameter. laid: the memory layout of each input
    in the arena."""
    inputs = dict(zip(instance.input_names, instance.inputs, strict=True))
    layouts = dict(zip(instance.input_names, laid, strict=True))
    named = dict(instance.module.named_parameters()) | dict(instance.module.named_buffers())
    for buffer in plan.buffers:
        if buffer.origin == "scratch":
            continue
        source = inputs[buffer.name] if buffer.origin == "input" else named[buffer.name]
        assert isinstance(source, torch.Tensor)
        spec = layouts[buffer.name] if buffer.origin == "input" else spec_of(source)
        assert isinstance(spec, TensorSpec)
        start = layout.offsets[buffer.id]
        flat = arena[start : start + buffer.nbytes - buffer.nbytes % source.element_size()].view(source.dtype)
        target = flat.as_strided(spec.shape, spec.stride, flat.storage_offset() + spec.offset)
        for dim, (size, stride) in enumerate(zip(spec.shape, spec.stride, strict=True)):
            if stride == 0 and size > 1:
                target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
        yield buffer, target, source


def spec_of(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."),
                      stride=tuple(tensor.stride()))  # fmt: skip
