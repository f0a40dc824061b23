"""The elements that indexing operators read and write.

If the values of an index are not known, the bound assumes the values with the least work: all equal where the index
reads, all different where it overwrites.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.bounds.demand import Demand, Wanted, shrunk
from kernelwright.worker.bounds.rules import Rule, sources, whole
from kernelwright.worker.bounds.tape import Step, View

NONE_IGNORED = "the targets of a loss are not known here: it is assumed that none is ignored"
READ_ALIKE = "the values of an index are not known here: all of its entries are assumed to be equal"
WRITTEN_APART = "the values of an index that is written to are not known here: its entries are assumed to differ"

COPIED_ELEMENTS = 1 << 22
"""Limit up to which a copying operator is run again on the numbers of its elements, which take eight bytes each."""

# --- what is read by an index -------------------------------------------------------------------------------


def rows(step: Step, wanted: Wanted, demand: Demand) -> None:
    """embedding and index_select: the entries of one dimension that the index names. The index is a vector or, for an
    embedding, a tensor of any shape."""
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
    """gather: one element of the first argument for each wanted element of the index."""
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
    """x[i, :, j]: every element that a wanted entry of the indices points to, and all of the other dimensions."""
    source = step.arguments["self"]
    places = [d for d, index in enumerate(step.arguments["indices"]) if isinstance(index, View)]
    if any(view.dtype in (torch.bool, torch.uint8) for view in step.tensors() if view is not source):
        whole(step, wanted, demand)  # a mask, whose count of read elements shows only in the output's size
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
    """nll_loss: in each row the element of the target; none if the target is ignored."""
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
    """Operators that only copy elements: the operator is run again on the numbers of the elements, and its result shows
    which elements it copies."""
    source, *indices = step.tensors()
    elements, made = torch.Size(source.shape).numel(), torch.Size(step.outputs[0].shape).numel()
    if max(elements, made) > COPIED_ELEMENTS:
        LARGE.get(step.name, whole)(step, wanted, demand)
        return
    numbers = torch.arange(1, elements + 1, dtype=torch.float64).view(source.shape)  # 0: no element is copied there

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
    """The entries of an index that are needed for the wanted elements of the operator's output."""
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
    """index_put, index_copy and scatter: the elements that they overwrite need no earlier value."""
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
    """The wanted elements of the values that are written. wanted: the wanted elements of the target."""
    if not isinstance(wanted, Tensor) or "dim" not in step.arguments:
        return wanted if wanted is None else True
    dim, index = step.arguments["dim"], step.arguments["index"]
    ids = written_to(index, source.shape[dim] if source.shape else 1, demand)
    placed = wanted.index_select(dim, ids.reshape(-1)) if step.name.startswith("index_") else wanted.gather(dim, ids)
    return placed if placed.shape == values.shape else True


def _overwritten(step: Step, source: View, demand: Demand) -> Tensor | None:
    """The elements that get new values; None if values are added to the old ones, or if the elements are not known."""
    if step.arguments.get("accumulate", False) or "reduce" in step.arguments or "_add" in step.name:
        return None
    return _placed(step, source, demand)


def changed(step: Step, target: View, demand: Demand) -> Wanted:
    """The elements of an argument that an operator changes in place: the elements at its index, or all."""
    if step.name not in INDEXED or target is not step.arguments.get("self"):
        return True
    placed = _placed(step, target, demand)
    return True if placed is None else placed


INDEXED = frozenset({
    "index_put_", "_index_put_impl_", "index_copy_", "index_fill_", "index_add_", "scatter_", "scatter_add_",
    "scatter_reduce_",
})  # fmt: skip
"""Operators that change only the elements at an index."""


def _placed(step: Step, source: View, demand: Demand) -> Tensor | None:
    """The elements at the index of an operator; None for a mask, whose elements are not known."""
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
    """The values of an index, on the CPU; if they are not known, zeros, and `assumed` is recorded in `demand`."""
    values = index.known()
    if values is not None:
        return values.detach().cpu().long()
    demand.assumed[assumed] = None
    return torch.zeros(index.shape, dtype=torch.long)


def written_to(index: View, size: int, demand: Demand) -> Tensor:
    """The values of an index; if they are not known, as many different values as possible. size: of the dimension."""
    if index.known() is not None:
        return known(index, demand)
    demand.assumed[WRITTEN_APART] = None
    return torch.arange(torch.Size(index.shape).numel()).remainder(max(size, 1)).view(index.shape)


LARGE: dict[str, Rule] = {
    "embedding": rows, "index_select": rows, "gather": gather, "index": indexed, "_unsafe_index": indexed,
}  # fmt: skip
"""The rules for operators of `REARRANGING` with more than COPIED_ELEMENTS, which are not run again."""

REARRANGING = (*LARGE, "masked_select", "take", "roll", "flip", "repeat", "tril", "triu", "diag_embed",
               "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
               "pixel_shuffle", "pixel_unshuffle", "im2col", "upsample_nearest1d", "upsample_nearest2d")  # fmt: skip
