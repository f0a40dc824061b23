"""The number of terms summed into one element of an output, measured by gradients.

Each node of PyTorch's autograd graph gets a gradient of one at one output element. The non-zero gradients that it
returns count the input elements on which that element depends: GELU 1, max pooling 1, softmax the length of a row, a
product its inner size. Terms of consecutive operators add up, so an output has the terms of the longest path to it. A
count over the whole graph at once would be too large: an element of the second of two linear layers depends on every
weight of the first.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernelwright.worker.reference.gradients import requiring_gradients
from kernelwright.worker.reference.instance import Instance, accepted, outputs, with_tensors
from kernelwright.worker.reference.walk import behind_its_sources

Edge = tuple[Any, int]
"""A node of the autograd graph, and the number of one of its outputs."""


def measured(wide: Instance) -> list[int | None]:
    """The number of terms of each output. wide: the instance in float64. None for an output without a gradient, or if
    PyTorch has no gradient for an operator on the path to it."""
    parameters = [one for one in wide.module.parameters() if _has_gradient(one)]
    leaves = with_tensors(wide, lambda one: one.detach().clone().requires_grad_() if _has_gradient(one) else one)
    with requiring_gradients(parameters), sdpa_kernel(SDPBackend.MATH), torch.backends.cudnn.flags(enabled=False):
        made, known = accepted(lambda: outputs(replace(leaves, gradients=True))), dict[Any, int]()
        if made is not None:
            return [_longest((one.grad_fn, one.output_nr), known) if one.grad_fn is not None else None for one in made]
    return [None] * len(outputs(wide))  # forward fails with gradients


def _has_gradient(value: Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()


def _longest(output: Edge, known: dict[Any, int]) -> int | None:
    """1 plus the additions of all nodes on the longest path; None if one is not known. known: a cache of the additions
    of each kind of node, filled in here."""
    order = list(behind_its_sources(output[0], _following))
    used: dict[Any, set[int]] = {node: set() for node in order}
    used[output[0]].add(output[1])
    for node in order:
        for following, number in node.next_functions:
            if following is not None:
                used[following].add(number)
    longest: dict[Any, int] = {}
    for node in order:
        added = _added(node, used[node], known)
        if added is None:
            return None
        longest[node] = added + max((longest[following] for following in _following(node)), default=0)
    return 1 + longest[output[0]]


def _following(node: Any) -> list[Any]:
    return [following for following, _ in node.next_functions if following is not None]


def _added(node: Any, used: set[int], known: dict[Any, int]) -> int | None:
    """How many additions an element of the node's outputs takes; None if its gradient cannot be computed."""
    if hasattr(node, "variable"):
        return 0  # an input or a parameter
    key = _kind(node)
    if key not in known:
        try:
            counts = [_count(node, number, element) for number in {min(used), max(used)} for element in (0.0, 0.5, 1.0)]
        except (RuntimeError, NotImplementedError, TypeError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            return None
        known[key] = max(counts) - 1
    return max(known[key], 0)


def _kind(node: Any) -> Any:
    """A cache key: nodes of one operator with the same sizes and arguments take the same number of additions."""
    sizes = tuple(tuple(one.shape) for one in node._input_metadata)
    before = tuple(_size(following, number) for following, number in node.next_functions)
    saved: list[tuple[str, str]] = []
    for name in dir(type(node)):
        if name.startswith("_saved_"):
            with contextlib.suppress(RuntimeError):  # not saved by this node
                value = getattr(node, name)
                if not isinstance(value, Tensor):
                    saved.append((name, "tensors" if _holds_tensors(value) else repr(value)))
    return node.name(), sizes, before, tuple(saved), node if node.name() == "CopySlices" else None


def _holds_tensors(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(one, Tensor) for one in value)


def _size(node: Any, number: int) -> tuple[int, ...] | None:
    if node is None:
        return None
    return tuple(node.variable.shape if hasattr(node, "variable") else node._input_metadata[number].shape)


def _count(node: Any, number: int, element: float) -> int:
    """The most elements of one input on which an element of output `number` depends. element: its position, from 0 for
    the first to 1 for the last."""
    gradients: list[Tensor | None] = [None] * len(node._input_metadata)
    about = node._input_metadata[number]
    chosen = torch.zeros(tuple(about.shape), dtype=about.dtype, device=about.device)
    if not chosen.numel():
        return 0
    chosen.view(-1)[round(element * (chosen.numel() - 1))] = 1
    gradients[number] = chosen
    found = node(*gradients)
    every = found if isinstance(found, tuple) else (found,)
    return max((int(torch.count_nonzero(one)) for one in every if isinstance(one, Tensor)), default=0)
