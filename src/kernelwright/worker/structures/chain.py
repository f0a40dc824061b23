"""What is done to a tile of scores between two products, as text of Triton: factors, masks, biases, caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch import SymFloat, SymInt, Tensor
from torch.fx import GraphModule, Node

from kernelwright.worker.structures.arguments import NotWritten
from kernelwright.worker.structures.elementwise import element, number_text
from kernelwright.worker.structures.masks import Band, band_of
from kernelwright.worker.structures.sides import Side, sizes_of, through

aten = torch.ops.aten

LOWEST = -1e30
"""A score up to this one is none beside any other: its share is 0 in float32."""


class Chain:
    """The text of what is done to scores. tensors, numbers: what it reads, by name. names: of scores after each step.
    sides: of the scores after each step. band: see `masks`. merged: names of tensors whose batch and heads are one
    side."""

    def __init__(self, graph: GraphModule, product: Node, sides: tuple[Side, ...]) -> None:
        self._graph, self._ends = graph, sides[-2:]
        self.tensors: dict[str, Node] = {}
        self.numbers: dict[str, Node | float] = {}
        self.names: dict[Node, str] = {product: "score"}
        self.sides: dict[Node, tuple[Side, ...]] = {product: sides}
        self.lines: list[str] = []
        self.band: Band | None = None
        self.merged = set[str]()

    def begin(self, product: Node) -> bool:
        """Write what a product does to its sums: `beta * x + alpha * sums`; False where it cannot be written."""
        if product.target is not aten.baddbmm.default:
            return True
        given = (*(product.kwargs.get(name, 1) for name in ("alpha", "beta")), product.args[0])
        try:
            self.lines.append("score = score * {} + {} * {}".format(
                *(self._said(one, self.sides[product]) for one in given)))  # fmt: skip
        except NotWritten:
            return False
        return True

    def add(self, step: Node, later: Sequence[Node]) -> bool:
        """Write one step; False for one that cannot be written. later: the steps after it."""
        read = [one for one in step.args if isinstance(one, Node) and one in self.names]
        if (moved := through(step, self.sides[read[0]])) is not None:
            self.names[step], self.sides[step] = self.names[read[0]], moved
            return True
        sides = self.sides[read[0]]
        if any(self.sides[one] != sides for one in read):
            return False
        is_last = all(len(users(one)) == 1 for one in read) and len({*read}) == 1
        name = self.names[read[0]] if is_last else f"score_{len(self.names)}"
        self.names[step], self.sides[step] = name, sides
        band = self._band(step, read) if self.band is None and all(map(_only_scales, later)) else None
        if band is not None:
            self.band, apart = band, "column[None, :] - row[:, None]"
            within = [f"({apart} {sign} {limit})" for sign, limit in ((">=", band.least), ("<=", band.most)) if limit]
            self.lines += [f"{name} = {self.names[read[0]]}"] * (name != self.names[read[0]])
            self.lines += ["if phase != 1:", f'    {name} = tl.where({" & ".join(within)}, {name}, float("-inf"))']
            return True
        try:
            self.lines.append(f"{name} = {element(step, lambda one: self._said(one, sides))}")
        except NotWritten:
            return False
        return True

    def _band(self, step: Node, read: Sequence[Node]) -> Band | None:
        """The band of a step that masks all else, if it is one."""
        if step.target is aten.masked_fill.Scalar and step.args[0] is read[0]:
            _, mask, fill = step.args
            band = band_of(self._graph, mask, lambda values: values == 0)  # type: ignore[arg-type]
        elif step.target is aten.add.Tensor and len(read) == 1:
            (mask,), fill = [one for one in step.args if one is not read[0]], LOWEST
            band = band_of(self._graph, mask, _left_by_bias) if isinstance(mask, Node) else None
        else:
            return None
        if band is None or (band.least is None and band.most is None) or not isinstance(fill, int | float):
            return None
        leaves_each = band.least is None and band.most is not None and band.most.isdecimal()
        return band if fill == -math.inf or (fill <= LOWEST and leaves_each) else None

    def _said(self, given: Any, sides: Sequence[Side]) -> str:
        """The text of an operand of a step. Raises `NotWritten`."""
        if not isinstance(given, Node):
            return number_text(given)
        if not given.all_input_nodes and given.op == "call_function":
            return element(given, str)
        if given in self.names:
            return self.names[given]
        value = given.meta["val"]
        if not isinstance(value, Tensor):
            name = next((name for name, known in self.numbers.items() if known is given), "")
            name = name or f"number_{len(self.numbers) + 1}"
            self.numbers[name] = given
            return name
        *pairs, rows, columns = sides
        is_merged = len(pairs) == 1 and len(pairs[0]) == 2 and value.dim() == 3
        is_merged &= sizes_of(given)[0] == sympy.expand(sympy.prod([part.size for side in pairs for part in side]))
        is_apart = is_merged or [*map(len, pairs)] in (
            [0],
            [1],
            [0, 1],
            [1, 1],
        )  # batch and heads as the kernel has them
        if value.dim() > (len(sides) if is_apart else 2) or (rows, columns) != self._ends:
            raise NotWritten(given)
        name = f"{'mask' if value.dtype == torch.bool else 'bias'}_{len(self.tensors) + 1}"
        self.tensors[name] = given
        self.merged |= {name} if is_merged else set()
        place = " + ".join([f"batch * {name}_batch", f"head * {name}_head", f"row[:, None] * {name}_row",
                            f"column[None, :] * {name}_column"])  # fmt: skip
        self.lines.append(f"{name} = tl.load({name}_ptr + {place}, mask=inside, other=0)")
        return name


def _left_by_bias(values: Tensor) -> Tensor | None:
    left = values == 0
    return left if bool((values[~left] <= LOWEST).all()) else None


def _only_scales(step: Node) -> bool:
    """Whether a step leaves minus infinity as it is, and the order of all else."""
    if step.target not in (aten.mul.Tensor, aten.mul.Scalar, aten.div.Tensor, aten.div.Scalar):
        return False
    given: Any = step.args[1]
    by = given.meta["val"] if isinstance(given, Node) else given
    return not isinstance(by, Tensor) and (by.node.hint if isinstance(by, SymInt | SymFloat) else by) > 0


def users(node: Node) -> list[Node]:
    """What reads a tensor's elements, and not its sizes."""
    return [one for one in node.users if not isinstance(one.meta.get("val"), SymInt)]
