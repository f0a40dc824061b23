"""A part of a graph that a structure computes, and how it becomes a call in the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
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
        for number in self.numbers:
            if isinstance(number, Node):
                _put_before(self.node, number)
        with graph.graph.inserting_before(self.node):
            text = codec.encode(self.structure).decode()
            made = graph.graph.call_function(CALL, ([*self.tensors], [*self.numbers], text))
            made.meta["val"] = self.node.meta["val"]
        self.node.replace_all_uses_with(made)


def _put_before(node: Node, size: Node) -> None:
    """Move a size that a graph computes later in front of a node, with what it is computed from."""
    if size is not node and not size < node:
        for one in size.all_input_nodes:
            _put_before(node, one)
        node.prepend(size)


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
