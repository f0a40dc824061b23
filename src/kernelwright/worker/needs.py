"""What each ATen operator needs of its arguments, for the elements that are wanted of its outputs.

An index whose values are not known is taken to be as kind to a kernel as can be: all equal where it reads, all
different where it overwrites.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.demand import Demand, Wanted, either, shrunk
from kernelwright.worker.tape import COPIES, Step, View

NONE_IGNORED = "the targets of a loss are not known here: none of them is taken to be ignored"
READ_ALIKE = "the values of an index are not known here: all of its entries are taken to be equal"
WRITTEN_APART = "the values of an index that is written to are not known here: its entries are taken to differ"

OVERWRITING = frozenset({"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"})
"""Operators that leave nothing of what their first argument held."""

COPIED_ELEMENTS = 1 << 22
"""Up to here an operator that copies elements is called once more on their numbers, in eight bytes each."""

Rule = Callable[[Step, Wanted, Demand], None]


def follow(step: Step, demand: Demand) -> float:
    """Turn what is wanted of a step's outputs into what is wanted of its arguments; the share of its first output that
    is wanted."""
    if step.name == "_local_scalar_dense":  # the host looks at the value
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
    if step.name.endswith("_like") or step.name.startswith(("new_", "empty")):
        return 1.0  # only the shape is read
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


def whole(step: Step, wanted: Wanted, demand: Demand) -> None:
    for view in sources(step):
        demand.add(view)


def elementwise(step: Step, wanted: Wanted, demand: Demand) -> None:
    for view in sources(step):
        demand.add(view, wanted if wanted is None or wanted is True else shrunk(wanted, view.shape))


def sources(step: Step) -> list[View]:
    """What a step reads: not what it only writes to."""
    is_only_written = step.name in OVERWRITING or "out" in step.written
    return [
        view for name, value in step.arguments.items() if not (is_only_written and name in step.written)
        for view in (value if isinstance(value, list | tuple) else [value]) if isinstance(view, View)
    ]  # fmt: skip


def along(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Reductions, scans, sorts and softmax: whole rows along their dimensions, of those rows that are wanted."""
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
    """Scans: everything up to the last element that is wanted."""
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
    """Rows of the first operand, columns of the second; what is added, element by element."""
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
    """(N, C, *sizes) as (N, 1, *sizes): each channel of an output needs all of the input."""
    return wanted.any(1, keepdim=True) if isinstance(wanted, Tensor) else wanted


def windows(step: Step, source: View, taps: Sequence[int], wanted: Wanted) -> Wanted:
    """What some wanted window holds: along each dimension by itself, which is exact where whole rows are wanted."""
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


# --- what is read by an index -------------------------------------------------------------------------------


def rows(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Embeddings and index_select: entries of one dimension, by a vector or, in the first, any tensor of numbers."""
    names = ("weight", "indices") if "weight" in step.arguments else ("self", "index")
    table, index = step.arguments[names[0]], step.arguments[names[1]]
    dim = step.arguments.get("dim", 0) % max(len(table.shape), 1)
    ids = known(index, demand)
    if isinstance(wanted, Tensor) and step.name == "embedding":
        demand.add(index, wanted.any(-1))
        picked, columns = ids[wanted.any(-1)], wanted.flatten(0, -2).any(0)
    elif isinstance(wanted, Tensor) and step.name == "index_select":
        of_index = shrunk(wanted.movedim(dim, -1), [wanted.shape[dim]])
        demand.add(index, of_index)
        picked, columns = (
            ids.reshape(-1)[of_index],
            shrunk(wanted, [1 if d == dim else n for d, n in enumerate(table.shape)]),
        )
    else:
        demand.add(index)
        picked, columns = ids, torch.ones((), dtype=torch.bool)
    read = torch.zeros([n if d == dim else 1 for d, n in enumerate(table.shape)], dtype=torch.bool)
    read.index_fill_(dim, picked.reshape(-1), True)
    demand.add(table, read & columns)
    for view in step.tensors():
        if view is not table and view is not index:
            demand.add(view)


def gather(step: Step, wanted: Wanted, demand: Demand) -> None:
    """One element of the first argument for each of the index."""
    source, index, dim = step.arguments["self"], step.arguments["index"], step.arguments["dim"]
    demand.add(index, wanted)
    ids = known(index, demand)
    if not ids.dim():
        demand.add(source)
        return
    mask = torch.ones(index.shape, dtype=torch.bool) if wanted is True else wanted
    assert isinstance(mask, Tensor)
    at = list(mask.nonzero(as_tuple=True))
    at[dim] = ids[mask]
    demand.add_at(source, tuple(at), dim)


def indexed(step: Step, wanted: Wanted, demand: Demand) -> None:
    """x[i, :, j]: every element that some wanted entry of the indices points to, whole in the other dimensions."""
    source = step.arguments["self"]
    places = [d for d, index in enumerate(step.arguments["indices"]) if isinstance(index, View)]
    if any(view.dtype in (torch.bool, torch.uint8) for view in step.tensors() if view is not source):
        whole(step, wanted, demand)  # a mask; on values, how many are read is known by the output alone
        return
    indices = [step.arguments["indices"][d] for d in places]
    for index in indices:
        demand.add(index)
    ids = torch.broadcast_tensors(*(known(index, demand) for index in indices))
    if isinstance(wanted, Tensor) and places == list(range(places[0], places[-1] + 1)):
        first = places[0]
        moved = wanted.flatten(first + ids[0].dim()) if wanted.dim() > first + ids[0].dim() else wanted.unsqueeze(-1)
        entries = moved.any(-1)
        for _ in range(first):
            entries = entries.any(0)
        ids = tuple(one[entries] for one in ids)
    read = torch.zeros([n if d in places else 1 for d, n in enumerate(source.shape)], dtype=torch.bool)
    read[tuple(ids[places.index(d)] if d in places else 0 for d in range(len(source.shape)))] = True
    demand.add(source, read)


def picked_logits(step: Step, wanted: Wanted, demand: Demand) -> None:
    """nll_loss: of each row the target's element, none where the target is to be ignored."""
    source, target = step.arguments["self"], step.arguments["target"]
    ids = known(target, demand, NONE_IGNORED)
    axis = 1 if len(source.shape) > 1 else 0
    kept = ids != step.arguments.get("ignore_index", -100)
    rows_wanted = wanted if isinstance(wanted, Tensor) and wanted.shape == ids.shape else None
    demand.add(target, True if rows_wanted is None else rows_wanted)
    if rows_wanted is not None:
        kept &= rows_wanted
    at = list(kept.nonzero(as_tuple=True)) if ids.dim() else []
    at.insert(axis, ids[kept])
    demand.add_at(source, tuple(at), axis)
    if isinstance(weight := step.arguments.get("weight"), View):
        classes = torch.zeros(weight.shape, dtype=torch.bool)
        classes[ids[kept]] = True
        demand.add(weight, classes)


def rearranged(step: Step, wanted: Wanted, demand: Demand) -> None:
    """Operators that only copy elements: called once more on the numbers of the places, they say which they copy."""
    source, *indices = step.tensors()
    elements, made = torch.Size(source.shape).numel(), torch.Size(step.outputs[0].shape).numel()
    if max(elements, made) > COPIED_ELEMENTS:
        LARGE.get(step.name, whole)(step, wanted, demand)
        return
    numbers = torch.arange(1, elements + 1, dtype=torch.float64).view(
        source.shape
    )  # 0 is what no element was copied to

    def given(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [given(one) for one in value]
        if not isinstance(value, View):
            return value
        return numbers if value is source else truth_or_index(value, demand)

    arguments = {name: given(value) for name, value in step.arguments.items()}
    arguments |= {"value": 0.0} if "value" in arguments else {}
    copied = step.func(**arguments)
    copied = copied[wanted] if isinstance(wanted, Tensor) else copied.flatten()
    read = torch.zeros(elements, dtype=torch.bool)
    read[copied[copied > 0].long() - 1] = True
    demand.add(source, read.view(source.shape))
    for index in indices:
        demand.add(index, entries_of(step, index, wanted))


def entries_of(step: Step, index: View, wanted: Wanted) -> Wanted:
    """Which entries of an index are needed for the wanted elements of what it picks."""
    if not isinstance(wanted, Tensor):
        return wanted
    if step.name == "index_select" and len(index.shape) == 1:
        return wanted.movedim(step.arguments["dim"], -1).flatten(0, -2).any(0)
    leads = step.name == "embedding" or isinstance(next(iter(step.arguments.get("indices", [])), None), View)
    if step.name in ("gather", "take") or leads:
        size = len(index.shape)
        if wanted.shape[:size] == index.shape:
            return wanted.flatten(size).any(-1) if wanted.dim() > size else wanted
    return True


def truth_or_index(view: View, demand: Demand) -> Tensor:
    values = view.known()
    return values.cpu() if values is not None and view.dtype in (torch.bool, torch.uint8) else known(view, demand)


# --- what is written by an index ----------------------------------------------------------------------------


def put(step: Step, wanted: Wanted, demand: Demand) -> None:
    """index_put, index_copy and scatter: what they overwrite needs no earlier value."""
    source = step.arguments["self"]
    written = _overwritten(step, source, demand)
    indices = {id(view) for view in _views(step.arguments.get("index", step.arguments.get("indices")))}
    for view in sources(step):
        if view is not source:
            placed = wanted if written is not None and id(view) not in indices else True
            demand.add(view, _of_values(step, source, view, placed, demand))
    if written is None:
        demand.add(source, wanted)
        return
    if isinstance(target := step.arguments.get("self"), View) and "self" in step.written:
        demand.overwrite(target)
    demand.add(source, ~written if wanted is True or wanted is None else wanted & ~written)


def _views(value: Any) -> list[View]:
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, View)]


def _of_values(step: Step, source: View, values: View, wanted: Wanted, demand: Demand) -> Wanted:
    """What is wanted of the values that are put, by what is wanted where they go."""
    if not isinstance(wanted, Tensor) or "dim" not in step.arguments:
        return wanted if wanted is None else True
    dim, index = step.arguments["dim"], step.arguments["index"]
    ids = written_to(index, source.shape[dim] if source.shape else 1, demand)
    placed = wanted.index_select(dim, ids.reshape(-1)) if step.name.startswith("index_") else wanted.gather(dim, ids)
    return placed if placed.shape == values.shape else True


def _overwritten(step: Step, source: View, demand: Demand) -> Tensor | None:
    """The elements that get new values; None where the old ones are added to, or where it cannot be said."""
    if step.arguments.get("accumulate", False) or "reduce" in step.arguments:
        return None
    written = torch.zeros(source.shape, dtype=torch.bool)
    if step.name.startswith("index_put"):
        indices = step.arguments["indices"]
        places = [d for d, index in enumerate(indices) if isinstance(index, View)]
        if any(indices[d].dtype in (torch.bool, torch.uint8) for d in places):
            return None
        ids = torch.broadcast_tensors(*(written_to(indices[d], source.shape[d], demand) for d in places))
        written[tuple(ids[places.index(d)] if d in places else slice(None) for d in range(len(source.shape)))] = True
        return written
    dim, index = step.arguments["dim"], step.arguments["index"]
    ids = written_to(index, source.shape[dim] if source.shape else 1, demand)
    return written.index_fill_(dim, ids, True) if step.name.startswith("index_") else written.scatter_(dim, ids, True)


def known(index: View, demand: Demand, assumed: str = READ_ALIKE) -> Tensor:
    """An index's values, on the CPU; zeros where they are not known, and what is `assumed` by that."""
    values = index.known()
    if values is not None:
        return values.detach().cpu().long()
    demand.assumed[assumed] = None
    return torch.zeros(index.shape, dtype=torch.long)


def written_to(index: View, size: int, demand: Demand) -> Tensor:
    """An index's values; as many different ones as there can be where they are not known."""
    if index.known() is not None:
        return known(index, demand)
    demand.assumed[WRITTEN_APART] = None
    return torch.arange(torch.Size(index.shape).numel()).remainder(max(size, 1)).view(index.shape)


ATTENTION = ("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
             "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
             "_scaled_dot_product_fused_attention_overrideable")  # fmt: skip
BAGS = ("_embedding_bag", "_embedding_bag_forward_only")
LOSSES = ("nll_loss_forward", "nll_loss2d_forward")
FIRST_COUNTS = frozenset({"native_layer_norm", *ATTENTION, *BAGS, *LOSSES})
"""Operators whose first output is what is computed, and whose others come with it."""

LARGE: dict[str, Rule] = {
    "embedding": rows, "index_select": rows, "gather": gather, "index": indexed, "_unsafe_index": indexed,
}  # fmt: skip
"""What counts for those of `REARRANGING` that copy too much to be called once more."""

REARRANGING = (*LARGE, "masked_select", "take", "roll", "flip", "repeat", "tril", "triu", "diag_embed",
               "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
               "pixel_shuffle", "pixel_unshuffle", "im2col", "upsample_nearest1d", "upsample_nearest2d")  # fmt: skip

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
    **dict.fromkeys(("index_put", "_unsafe_index_put", "index_copy", "scatter", "index_fill"), put),
    **dict.fromkeys(("cat", "stack"), concatenation),
    "convolution": convolution,
    "native_layer_norm": layer_norm,
}  # fmt: skip
