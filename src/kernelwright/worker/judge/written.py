"""What a call may not write: memory outside and between its buffers, inputs, and elements that forward leaves alone.

Each check returns what it found, or "" if nothing was written there. poison: the byte that memory was filled with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from kernelwright.worker.judge.answer import Answer
from kernelwright.worker.judge.untouched import same_values
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import Buffer
from kernelwright.worker.reference.pieces import CHUNK


def outside(arena: torch.Tensor, layout: Layout, poison: int) -> str:
    """Says that memory outside every buffer was written; "" if none was."""
    touched = any(bool((arena[start:end] != poison).any()) for start, end in layout.guards())
    return "memory outside every buffer was written: an unmasked store" if touched else ""


def needlessly_changed(
    answer: Answer, left_alone: Mapping[str, torch.Tensor], left: Mapping[str, torch.Tensor],
    before: Mapping[str, torch.Tensor],
) -> str:  # fmt: skip
    """Says that elements of an input were changed that forward leaves alone; "" if none were. left_alone: which
    elements those are. left, before: the input's values after and before the call."""
    for name, where in left_alone.items():
        if count := int((where & ~same_values(left[name], before[name])).sum()):
            return f"{answer.prefix}{count} elements of {name} were changed, but forward does not change them"
    return ""


def inputs_changed(
    arena: torch.Tensor, layout: Layout, poison: int, bound: Sequence[tuple[Buffer, torch.Tensor, torch.Tensor]],
    changed: Mapping[int, str],
) -> str:  # fmt: skip
    """Says which bytes of inputs and parameters were written that may not be; "" if none were. bound: buffers, what
    is in them now, and what was. changed: names of the inputs that forward changes, by id of their buffer."""
    for buffer, target, source in bound:
        if buffer.id not in changed and not same_bits(target, source):
            return "an input or parameter was changed by the call"
        if bool((between(arena, layout, buffer, target) != poison).any()):
            return f"memory between the rows of {buffer.name} was written"
    return ""


def between(arena: torch.Tensor, layout: Layout, buffer: Buffer, target: torch.Tensor) -> torch.Tensor:
    """The bytes of a buffer outside the elements of its tensor. target: the tensor's window in the arena."""
    start = layout.offsets[buffer.id]
    memory = arena[start : start + buffer.nbytes]
    if target.numel() * target.element_size() == buffer.nbytes:
        return memory[:0]
    is_free = torch.ones(buffer.nbytes, dtype=torch.bool, device=arena.device)
    item = target.element_size()
    offset = target.storage_offset() * item - start
    shape, stride = [*target.shape, item], [*(s * item for s in target.stride()), 1]
    is_free.as_strided(shape, stride, offset).fill_(False)
    return memory[is_free]


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same bits in all elements: NaN equals itself and −0 differs from 0."""
    if one.is_floating_point():
        integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
        one, other = one.view(integers), other.view(integers)
    if one.is_contiguous() and other.is_contiguous():
        pairs = zip(one.view(-1).split(CHUNK), other.view(-1).split(CHUNK), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)
    return torch.equal(one, other)
