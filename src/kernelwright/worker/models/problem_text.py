"""Writes a family of regions as a problem: text, with sizes as numbers of the constructor and a case for each key."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from kernelwright.errors import RequestError
from kernelwright.worker.models.draws import draw_text, indexed, laid_out
from kernelwright.worker.models.regions import (
    Region,
    arguments_of,
    is_size,
    library_kind,
    name_of,
    size_names,
    value_of,
)
from kernelwright.worker.models.sizes import Names
from kernelwright.worker.reference.instance import HALF

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
METHODS = frozenset({"view", "reshape", "permute", "expand", "unsqueeze", "squeeze", "transpose", "clone"})
LEFT_OUT = ("layout", "pin_memory")
INIT = "    def __init__(self, {numbers}):\n        super().__init__()\n        {stored} = {numbers}\n\n"


def problem_text(family: Mapping[str, Region], seen: Mapping[Node, Tensor], title: str) -> str:
    """family: regions that differ in their sizes only, by the name of the case. seen: values of the inputs of the first
    that are known. Raises `RequestError` with the reason where it cannot be written."""
    regions = [*family.values()]
    inputs = regions[0].inputs
    if not inputs:
        raise RequestError("it has no input")
    if not all(isinstance(value_of(one), Tensor) for one in inputs):
        raise RequestError("an input of it is no tensor")
    floating = {value_of(one).dtype for one in inputs if value_of(one).dtype.is_floating_point}
    writer = _Writer(regions, floating.pop() if len(floating) == 1 else None)
    body = "\n".join(f"        v{place} = {writer.line(place)}" for place in range(len(regions[0].nodes)))
    names = writer.names.names
    used = ", ".join(one for one in names.values() if re.search(rf"self\.{one}\b", body))
    stored = ", ".join(f"self.{one}" for one in used.split(", "))
    cases = [
        {"name": name, **({"dtype": str(writer.dtype)[6:]} if writer.dtype in HALF else {}),
         **{one: size[place] for size, one in names.items()}}
        for place, name in enumerate(family)
    ]  # fmt: skip
    return (resources.files(__package__) / "problem.py.txt").read_text("utf-8").format(
        title=title, constants="".join(f"{name} = {sizes[0]}\n" for sizes, name in names.items()), numbers=used,
        init=INIT.format(numbers=used, stored=stored) if used else "", body=body,
        args=", ".join(f"x{place}" for place in range(len(inputs))),
        returned=", ".join(writer.words[node] for node in regions[0].outputs),
        draws="\n".join(f"        {writer.draw(place, seen.get(node))}," for place, node in enumerate(inputs)),
        cases="\n".join(f"    dict({', '.join(f'{name}={one!r}' for name, one in case.items())})," for case in cases),
    )  # fmt: skip


def can_be_stated(call: Node) -> bool:
    """Whether a library call is an operator of PyTorch's own: of attention, the one whose result alone is used."""
    if library_kind(call) != "attention":
        return True
    given = arguments_of(call)
    return {"query", "key", "value"} <= given.keys() and not given.get("dropout_p") and all(
        user.target is operator.getitem and user.args[1] == 0 for user in call.users
    )  # fmt: skip


class _Writer:
    """dtype: the only floating-point dtype of the inputs, which a case may replace; None where there are several."""

    def __init__(self, regions: list[Region], dtype: torch.dtype | None) -> None:
        self.regions, self.dtype, self.names = regions, dtype, Names(regions)
        self.words = {node: f"x{place}" for place, node in enumerate(regions[0].inputs)}
        self.cast = next((word for node, word in self.words.items() if value_of(node).dtype == dtype), "")

    def draw(self, place: int, seen: Tensor | None) -> str:
        """The expression of an input in get_inputs."""
        first, node = self.regions[0], self.regions[0].inputs[place]
        tensor, limit = value_of(node), ""
        shapes = [value_of(region.inputs[place]).shape for region in self.regions]
        if (found := indexed(node, first)) is not None:
            limit = str(value_of(found[0]).shape[found[1]])
            if found[0] in first.inputs:
                at = first.inputs.index(found[0])
                limit = self.names.text(tuple(value_of(one.inputs[at]).shape[found[1]] for one in self.regions))
        shape, order = laid_out(tensor, [self.names.text(size) for size in zip(*shapes, strict=True)])
        text = draw_text(node, seen, shape or "()", limit)
        if tensor.dtype.is_floating_point and self.dtype is None and tensor.dtype is not torch.float32:
            order += f".to({tensor.dtype})"
        return f"({text}){order}" if order else text

    def line(self, place: int) -> str:
        """The expression of an operator in forward, which is then known by its name."""
        node = self.regions[0].nodes[place]
        target: Any = node.target
        name, sized = name_of(node), size_names(target)
        every = [arguments_of(one.nodes[place]) for one in self.regions]
        words = {key: self.word([one[key] for one in every], key in sized) for key in every[0] if key not in LEFT_OUT}
        values = [*words.values()]
        self.words[node] = f"v{place}"
        if target is operator.getitem:
            return f"{values[0]}[{values[1]}]"
        if target is torch.ops.prims.convert_element_type.default:
            return f"{values[0]}.to({values[1]})"
        if name in INFIX and len(words) == 2:
            return f"{values[0]} {INFIX[name]} {values[1]}"
        if library_kind(node) == "attention":
            query, key = (every[0][one] for one in ("query", "key"))
            heads = ", enable_gqa=True" * (value_of(query).shape[-3] != value_of(key).shape[-3])
            mask = words.get("attn_mask", words.get("attn_bias", "None"))
            causal, scale = (words.get(one) or repr(other) for one, other in (("is_causal", False), ("scale", None)))
            stated = f"{words['query']}, {words['key']}, {words['value']}, {mask}, is_causal={causal}, scale={scale}"
            return f"(torch.nn.functional.scaled_dot_product_attention({stated}{heads}),)"
        by_place = {one.name for one in target._schema.arguments if not one.kwarg_only}
        given = [word if key in by_place else f"{key}={word}" for key, word in words.items()]
        if name in METHODS:
            return f"{given[0]}.{'reshape' if name == 'view' else name}({', '.join(given[1:])})"
        return f"torch.ops.{target.namespace}.{name}.{target._overloadname}({', '.join(given)})"

    def word(self, values: list[Any], is_sized: bool) -> str:
        """One argument. values: in each case."""
        first = values[0]
        if isinstance(first, Node):
            return self.words[first]
        if isinstance(first, list | tuple):
            return f"[{', '.join(self.word([*one], is_sized) for one in zip(*values, strict=True))}]"
        if is_sized and is_size(first):
            return self.names.text(tuple(values), "self.")
        if isinstance(first, float) and not abs(first) < float("inf"):
            return f"float('{first}')"
        if isinstance(first, torch.device):
            return "x0.device"
        return f"{self.cast}.dtype" if first in HALF and first == self.dtype else repr(first)
