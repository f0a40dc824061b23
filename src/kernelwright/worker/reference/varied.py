"""The draw that varies what a file makes constant: tensors of one value, masks, gradients, labels without a sentinel.

A kernel that leaves out a bias of zeros, or a mask of ones, is right on every value that the file draws.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from kernelwright.worker.reference import lines
from kernelwright.worker.reference.instance import (
    Instance,
    Watching,
    accepted,
    arguments_of,
    cast,
    operator_name,
    ran,
    with_tensors,
)

PART, LEAST = 8, 2
"""Of a mask every eighth row gets no element, and of labels every eighth one is a sentinel. A mask has at least two
rows."""

LOST = 4
"""A mask of one value loses a quarter of it: True to False, or False to True."""

COMPARED = {
    "eq": (0,), "ne": (0,), "lt": (-1, 0), "ge": (-1, 0), "le": (0, 1), "gt": (0, 1),
}  # fmt: skip
"""What lies on both sides of a comparison with a number, as the distance from it."""

IGNORED = "ignore_index"
"""The argument of PyTorch's losses that says which label counts for nothing."""


def vary(instance: Instance, seed: int) -> bool:
    """Vary the inputs of a draw, in place. Returns whether there is something to vary."""
    found = [_vary(value, torch.Generator(device=value.device).manual_seed(seed + position))
             for position, value in enumerate(instance.inputs) if isinstance(value, Tensor)]  # fmt: skip
    for value in instance.inputs[len(instance.inputs) - instance.joint :]:
        if isinstance(value, Tensor):
            value.fill_(1.0)
    return any(found) or instance.joint > 0


def _vary(value: Tensor, generator: torch.Generator) -> bool:
    """Vary a tensor of one value, or a mask, in place. Returns whether it is one."""
    if not value.is_contiguous() or not value.numel():
        return False
    first = value.view(-1)[0]
    is_constant = bool((value == first).all())
    if value.dtype == torch.bool:
        part = torch.rand(value.shape, generator=generator, device=value.device)
        if is_constant:
            value.copy_(torch.where(part < 1 / LOST, ~value, value))
        elif value.dim() >= LEAST and lines.may_permute_rows(value):
            value.logical_and_(_rows(value, generator)[..., None] > 0)
        else:
            return False
        return True
    if not (is_constant and value.is_floating_point() and value.element_size() > 1 and bool(first.isfinite())):
        return False
    noise = torch.rand(value.shape, generator=generator, device=value.device, dtype=torch.float64)
    value.copy_(2 * noise - 1 if first == 0 else first * (0.5 + noise))
    return True


def _rows(value: Tensor, generator: torch.Generator) -> Tensor:
    """For each row a whole number, 0 for every eighth of them and for at least one."""
    rows = value.shape[:-1]
    return torch.randperm(rows.numel(), generator=generator, device=value.device).view(rows) % PART


def sentinels(instance: Instance) -> dict[int, list[int]]:
    """For each input of whole numbers the numbers that forward compares it with, or numbers beyond these, and that it
    does not have: -100 for a label that a loss ignores. Those that forward refuses are left out.

    It runs on a copy in the CPU's memory, where an index out of range is an error that a process survives.
    """
    instance = cast(with_tensors(instance, lambda one: one.cpu()), "float32")
    instance.module.cpu()
    called = with_tensors(instance, Tensor.clone)
    own = {at: value for at, value in enumerate(called.inputs) if isinstance(value, Tensor) and _are_labels(value)}
    found: dict[int, set[int]] = {}
    kept: list[tuple[Tensor, int]] = [(value, position) for position, value in own.items()]

    def see(func: Any, args: Any, named: Any, made: Any) -> None:
        whole = [one for one in tree_leaves((args, named)) if isinstance(one, Tensor) and not one.is_floating_point()]
        which = [at for one in whole for known, at in kept if known.data_ptr() == one.data_ptr()]
        if not which:
            return
        given = arguments_of(func, args, named)
        for number, steps in ((given.get(IGNORED), (0,)), (given.get("other"), COMPARED.get(operator_name(func), ()))):
            if isinstance(number, int) and not isinstance(number, bool):
                found.setdefault(which[0], set()).update(number + step for step in steps)
        for one in tree_leaves(made):
            if isinstance(one, Tensor) and _are_labels(one) and bool(torch.isin(one, own[which[0]]).all()):
                kept.append((one, which[0]))  # a view or a copy of the input, which stays in memory

    with Watching(see):
        accepted(lambda: ran(called))
    right: dict[int, list[int]] = {}
    for at, numbers in found.items():
        for number in sorted(numbers - set(own[at].unique().tolist())):
            tried = with_tensors(instance, Tensor.clone)
            place(tried, {at: [number]}, 0)
            if accepted(partial(ran, tried)) is not None:
                right.setdefault(at, []).append(number)
    return right


def place(instance: Instance, numbers: dict[int, list[int]], seed: int) -> None:
    """Put `numbers` (by an input's position) into every eighth element of it, in place."""
    for at, some in numbers.items():
        value = instance.inputs[at]
        assert isinstance(value, Tensor)
        flat = value.view(-1)
        generator = torch.Generator(device=value.device).manual_seed(seed + at)
        chosen = torch.randperm(len(flat), generator=generator, device=value.device)[: max(1, len(flat) // PART)]
        flat[chosen] = torch.tensor(some, dtype=value.dtype, device=value.device).repeat(len(chosen))[: len(chosen)]


def _are_labels(value: Tensor) -> bool:
    """Whether these are whole numbers, more than one, that do not ascend: offsets and positions do."""
    if value.dtype not in (torch.int32, torch.int64) or value.numel() < LEAST:
        return False
    flat = value.reshape(-1)
    return value.is_contiguous() and not bool((flat[1:] >= flat[:-1]).all())
