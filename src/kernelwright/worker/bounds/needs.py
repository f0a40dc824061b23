"""The argument elements that each ATen operator needs for the wanted elements of its outputs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernelwright.worker.bounds.demand import Demand, Wanted, either, shrunk
from kernelwright.worker.bounds.indices import REARRANGING, picked_logits, put, rearranged, rows
from kernelwright.worker.bounds.rules import OVERWRITING, Rule, elementwise, reads_only_shape, whole
from kernelwright.worker.bounds.tape import COPIES, Step, View


def follow(step: Step, demand: Demand) -> float:
    """Mark the elements of a step's arguments that its wanted outputs need. Returns the wanted share of its first
    output."""
    if step.name == "_local_scalar_dense":  # the host reads the value
        demand.add(next(step.tensors()))
        return 1.0
    targets = [target for name in step.written if isinstance(target := step.arguments.get(name), View)]
    read_from = {view.storage for view in step.tensors()}
    made = targets or [output for output in step.outputs if output.storage not in read_from]
    wanted = [demand.of(view) for view in made]
    if not made or all(one is None for one in wanted):
        return 0.0
    is_out = "out" in step.written
    if targets and (is_out or step.name in OVERWRITING):
        for target in targets:
            demand.overwrite(target)
    if reads_only_shape(step.name):
        return 1.0
    rule = rule_for(step.name.rstrip("_") if targets and not is_out else step.name, step.is_pointwise)
    if step.name in FIRST_COUNTS and wanted[0] is not None:
        rule(step, wanted[0], demand)
    elif all(one is None or view.shape == made[0].shape for one, view in zip(wanted, made, strict=True)):
        rule(step, either(wanted), demand)
    else:
        whole(step, True, demand)
    first = wanted[0]
    return int(first.count_nonzero()) / first.numel() if isinstance(first, Tensor) else 1.0


def rule_for(name: str, is_pointwise: bool) -> Rule:
    """The rule of an operator, by its name without a final underscore."""
    return RULES.get(name, elementwise if is_pointwise or name in COPIES | {"copy"} else whole)


def along(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Reductions, sorts and softmax: whole rows along their dimensions, for the rows with a wanted element."""
    source = next(step.tensors())
    dims = step.arguments.get("dim")
    if wanted is not True and wanted is not None and dims is not None and dims != [] and source.shape:
        axes = sorted({d % len(source.shape) for d in (dims if isinstance(dims, list | tuple) else [dims])})
        if wanted.dim() < len(source.shape):
            for axis in axes:
                wanted = wanted.unsqueeze(axis)
        for axis in axes:
            wanted = wanted.any(axis, keepdim=True)
        wanted = wanted.broadcast_to(source.shape)
        demand.add(source, wanted)
    else:
        whole(step, wanted, demand)


def cumulative(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Scans: all elements up to the last wanted one."""
    if isinstance(wanted, Tensor) and wanted.dim():
        dim = step.arguments["dim"]
        wanted = wanted.flip(dim).to(torch.int8).cummax(dim).values.flip(dim).bool()
    demand.add(next(step.tensors()), wanted)


def layer_norm(step: Step, wanted: Wanted, demand: Demand) -> None:
    source, *rest = step.tensors()
    if isinstance(wanted, Tensor):
        for axis in range(1, len(step.arguments["normalized_shape"]) + 1):
            wanted = wanted.any(-axis, keepdim=True)
    demand.add(source, wanted)
    for view in rest:
        demand.add(view)


def product(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Matrix products: rows of the first operand, columns of the second; of an addend, the wanted elements."""
    *added, one, other = list(step.tensors())
    if isinstance(wanted, Tensor):
        for view in added:
            demand.add(view, shrunk(wanted, view.shape))
        demand.add(one, wanted.any(-1, keepdim=True))
        demand.add(other, wanted.any(-2, keepdim=True))
    else:
        whole(step, wanted, demand)


def convolution(step: Step, wanted: Wanted, demand: Demand) -> None:
    source, *rest = step.tensors()
    for view in rest:
        demand.add(view)
    if step.arguments["transposed"] or len(source.shape) != len(rest[0].shape):
        whole(step, wanted, demand)
    else:
        taps = rest[0].shape[2:]
        demand.add(source, windows(step, source, taps, by_image(wanted)))


def pooling(step: Step, wanted: Wanted, demand: Demand) -> None:
    source = next(step.tensors())
    taps = step.arguments["kernel_size"]
    demand.add(source, windows(step, source, taps, wanted))


def by_image(wanted: Wanted) -> Wanted:
    """A mask (N, C, *sizes) as (N, 1, *sizes): each output channel needs all input channels."""
    return wanted.any(1, keepdim=True) if isinstance(wanted, Tensor) else wanted


def windows(step: Step, source: View, taps: Sequence[int], wanted: Wanted) -> Wanted:
    """The elements in wanted windows. Each dimension is followed separately; this is exact for whole rows."""
    made = step.outputs[0].shape
    read = torch.ones((), dtype=torch.bool)
    if isinstance(wanted, Tensor):
        read = wanted.flatten(-len(taps)).any(-1).view(*wanted.shape[: -len(taps)], *[1] * len(taps))
    for axis, tap in enumerate(_repeated(taps, len(taps)), -len(taps)):
        step_by = _repeated(step.arguments.get("stride") or taps, len(taps))[axis]
        pad, apart = (_repeated(step.arguments.get(name) or [one], len(taps))[axis] for name, one in
                      (("padding", 0), ("dilation", 1)))  # fmt: skip
        along_axis = [1] * len(taps)
        along_axis[axis] = -1
        outputs = torch.arange(made[axis])
        if isinstance(wanted, Tensor):
            others = [d for d in range(wanted.dim()) if d != wanted.dim() + axis]
            outputs = outputs[wanted.any(others) if others else wanted]
        places = (outputs[:, None] * step_by - pad + torch.arange(tap)[None, :] * apart).flatten()
        held = torch.zeros(source.shape[axis], dtype=torch.bool)
        held[places[(places >= 0) & (places < source.shape[axis])]] = True
        read = read & held.view(along_axis)
    return read


def _repeated(sizes: Sequence[int], count: int) -> list[int]:
    return list(sizes) * count if len(sizes) == 1 else list(sizes)


def attention(step: Step, wanted: Wanted, demand: Demand) -> None:
    query, key, value, *rest = step.tensors()
    rows, heads = wanted, wanted
    if isinstance(wanted, Tensor):
        rows = wanted.any(-1, keepdim=True)
        heads = rows.any(-2, keepdim=True)
        if key.shape[:-2] != query.shape[:-2]:  # several heads of queries to one of keys
            grouped = len(key.shape) == 4 and not query.shape[1] % key.shape[1]
            heads = heads.unflatten(1, (key.shape[1], -1)).any(2) if grouped else True
    demand.add(query, rows)
    demand.add(key, heads)
    demand.add(value, heads)
    for view in rest:
        demand.add(view)


def concatenation(step: Step, wanted: Wanted, demand: Demand) -> None:
    views, dim = list(step.tensors()), step.arguments.get("dim", 0)
    start = 0
    for position, view in enumerate(views):
        if not isinstance(wanted, Tensor):
            demand.add(view, wanted)
        elif step.name == "stack":
            demand.add(view, wanted.select(dim, position))
        elif len(view.shape) == wanted.dim():
            demand.add(view, wanted.narrow(dim, start, view.shape[dim]))
            start += view.shape[dim]


ATTENTION = ("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
             "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
             "_scaled_dot_product_fused_attention_overrideable")  # fmt: skip
BAGS = ("_embedding_bag", "_embedding_bag_forward_only")
LOSSES = ("nll_loss_forward", "nll_loss2d_forward")
FIRST_COUNTS = frozenset({"native_layer_norm", *ATTENTION, *BAGS, *LOSSES})
"""Operators whose first output alone decides which elements are needed; the other outputs are by-products."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm"), product),
    **dict.fromkeys(
        ("_softmax", "_log_softmax", "_safe_softmax", "logsumexp", "sum", "mean", "prod", "amax", "amin", "max", "min",
         "argmax", "argmin", "var", "std", "var_mean", "any", "all", "sort", "topk", "norm", "linalg_vector_norm",
         "median", "kthvalue"),
        along,
    ),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"), cumulative),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d"), pooling),
    **dict.fromkeys(REARRANGING, rearranged),
    **dict.fromkeys(ATTENTION, attention),
    **dict.fromkeys(BAGS, rows),
    **dict.fromkeys(LOSSES, picked_logits),
    **dict.fromkeys(
        ("index_put", "_unsafe_index_put", "index_copy", "scatter", "index_fill", "index_add", "scatter_add"), put
    ),
    **dict.fromkeys(("cat", "stack"), concatenation),
    "convolution": convolution,
    "native_layer_norm": layer_norm,
}  # fmt: skip
