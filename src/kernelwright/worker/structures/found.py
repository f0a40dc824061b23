"""A part of a graph that a structure computes, and how it becomes a call in the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import SymInt, Tensor
from torch.fx import GraphModule, Node
from torch.library import Library, register_fake

from kernelwright import codec
from kernelwright.model import Structure

_LIBRARY = Library("kernelwright", "FRAGMENT")
_LIBRARY.define("structure(Tensor[] tensors, Scalar[] numbers, str structure) -> Tensor")

CALL = torch.ops.kernelwright.structure.default
"""The call in a graph. It has no implementation, because graphs are only lowered."""


def _made(tensors: Sequence[Tensor], numbers: Sequence[Any], structure: str) -> Tensor:
    made = codec.decode(structure.encode(), Structure)
    sizes = [*(one.shape for one in tensors), *((one,) for one in numbers)]
    shape = [math.prod(sizes[place][side] for place, side in sides) for sides in made.shape]
    return tensors[made.like].new_empty(shape, dtype=getattr(torch, made.dtype) if made.dtype else None)


register_fake("kernelwright::structure", _made, lib=_LIBRARY)


@dataclass(frozen=True)
class Found:
    """node: whose value is computed. tensors, numbers: the arguments of the host function; a node among the numbers is
    computed from sizes."""

    node: Node
    tensors: tuple[Node, ...]
    numbers: tuple[Node | float, ...]
    structure: Structure

    def put(self, graph: GraphModule) -> None:
        """Let the structure compute it."""
        numbers = [_before(self.node, one) if isinstance(one, Node) else one for one in self.numbers]
        with graph.graph.inserting_before(self.node):
            text = codec.encode(self.structure).decode()
            made = graph.graph.call_function(CALL, ([*self.tensors], numbers, text))
            made.meta["val"] = self.node.meta["val"]
        self.node.replace_all_uses_with(made)


def _before(node: Node, size: Node) -> Node:
    """A size that a graph computes later, in front of a node: an equal one, or an equal side of a tensor there, or else
    itself, moved there with what it is computed from. It may be read from what the node or a later one makes."""
    if size < node:
        return size
    wanted = _sides(size)
    for other in node.graph.nodes if wanted else ():
        if other < node and wanted[0] in (sides := _sides(other)):
            if not isinstance(other.meta["val"], Tensor):
                return cast(Node, other)
            with node.graph.inserting_before(node):
                made = node.graph.call_function(torch.ops.aten.sym_size.int, (other, sides.index(wanted[0])))
            made.meta["val"] = size.meta["val"]
            return made
    for one in size.all_input_nodes:
        size.replace_input_with(one, _before(node, one))
    node.prepend(size)
    return size


def _sides(node: Node) -> list[Any]:
    """The sides of a tensor, or a size alone, as expressions of symbols; None for a side that is a number."""
    value = node.meta.get("val")
    sides = value.shape if isinstance(value, Tensor) else [value] if isinstance(value, SymInt) else []
    return [one.node.expr if isinstance(one, SymInt) else None for one in sides]


def filled(text: str, lines: Mapping[str, Sequence[str]], words: Mapping[str, str]) -> str:
    """A structure's text with its holes filled: `{name}` alone in a line by lines, maybe none, else by a word."""
    made = []
    for line in text.strip().splitlines():
        hole = line.strip().removeprefix("{").removesuffix("}")
        if line.strip() == f"{{{hole}}}" and hole in lines:
            made += [line.replace(f"{{{hole}}}", one) for one in lines[hole]]
        else:
            for name, word in words.items():
                line = line.replace(f"{{{name}}}", word)
            made.append(line)
    return "\n".join(made)
