"""What the kernels of a structure read: tensors, and sizes as text of numbers that are arguments."""

from __future__ import annotations

from typing import Any

import sympy
from torch import SymInt
from torch.fx import GraphModule, Node

from kernelwright.worker.structures.masks import hint_of
from kernelwright.worker.structures.sides import VIEWS, sizes_of


class NotWritten(Exception):
    """A value cannot be written."""


class Arguments:
    """What a kernel reads, by name. whole: text that has to be 0, as the kernel divides sizes by numbers."""

    def __init__(self, graph: GraphModule) -> None:
        self._graph = graph
        self._equal = _equations(graph)
        self.tensors: dict[str, Node] = {}
        self.numbers: dict[str, Node | float] = {}
        self.whole: dict[str, None] = {}
        self._count = 0

    def next_name(self) -> str:
        self._count += 1
        return f"value_{self._count}"

    def tensor(self, node: Node) -> str:
        return _named(self.tensors, "given", node)

    def number(self, node: Node) -> str:
        return _named(self.numbers, "number", node)

    def sides(self, node: Any) -> tuple[Any, ...]:
        """The sizes of a tensor, as expressions of as few symbols as views say."""
        return tuple(sympy.expand(size.subs(self._equal)) for size in sizes_of(node))

    def expression(self, size: Any) -> Any:
        """A size among the arguments of an operator: a number, or a node."""
        value = size.meta["val"] if isinstance(size, Node) else size
        if not isinstance(value, SymInt):
            return sympy.Integer(value)
        return sympy.expand(value.node.shape_env.replace(value.node.expr).subs(self._equal))

    def note(self, size: Any) -> None:
        """Note a size with a fraction, to be checked."""
        above, below = sympy.fraction(sympy.together(size))
        if below != 1:
            self.whole.setdefault(f"{self._text(above)} % {below}")

    def size(self, size: Any) -> str:
        """A size as text of numbers and arguments."""
        size = sympy.sympify(size)
        if size.is_Integer:
            return str(size)
        self.note(size)
        above, below = sympy.fraction(sympy.together(size))
        return f"({self._text(above)} // {below})" if below != 1 else self._text(size)

    def _text(self, size: Any) -> str:
        if (node := self._node(size)) is not None:
            return self.number(node)
        symbols = {one: self._node(one) for one in size.free_symbols}
        if any(one is None for one in symbols.values()):
            raise NotWritten(size)
        words = {one: sympy.Symbol(self.number(node)) for one, node in symbols.items() if node is not None}
        return f"({sympy.expand(size).subs(words, simultaneous=True)})"

    def factors(self, size: Any) -> tuple[int, ...]:
        """The places among the numbers of those whose product is a size."""
        found = list[int]()
        for one, power in sympy.sympify(size).as_powers_dict().items():
            if one.is_Symbol and power.is_Integer:
                name = self._text(one)
            elif one.is_Integer and power == 1:
                name = f"number_{len(self.numbers) + 1}"
                self.numbers[name] = int(one)
            else:
                raise NotWritten(size)
            found += [[*self.numbers].index(name)] * int(power)
        return tuple(found)

    def hint(self, size: Any) -> int:
        """A size's value at the captured size."""
        nodes = {one: self._node(one) for one in sympy.sympify(size).free_symbols}
        return int(size.subs({one: hint_of(node.meta["val"]) for one, node in nodes.items() if node is not None}))

    def _node(self, size: Any) -> Node | None:
        """A node whose value is a size."""
        for node in self._graph.graph.nodes:
            if isinstance(node.meta.get("val"), SymInt) and sympy.expand(self.expression(node) - size) == 0:
                return node  # type: ignore[no-any-return]
        return None


def _named(known: dict[str, Any], kind: str, node: Node) -> str:
    """The name of a node among those that are known; a new one gets the next name of its kind."""
    found = next((name for name, one in known.items() if one is node), f"{kind}_{len(known) + 1}")
    known[found] = node
    return found


def _equations(graph: GraphModule) -> dict[Any, Any]:
    """Sizes in terms of others, from views: they have as many elements as what they are of."""
    found = dict[Any, Any]()
    for node in graph.graph.nodes:
        if node.target not in VIEWS:
            continue
        before, after = (sympy.prod(sizes_of(one)).subs(found) for one in (node.args[0], node))
        sides = sympy.fraction(sympy.cancel(before / after))
        for alone, rest in (sides, sides[::-1]):
            if len(alone.free_symbols) == 1 and rest.free_symbols and not alone.free_symbols & rest.free_symbols:
                (symbol,) = alone.free_symbols
                if (factor := sympy.cancel(alone / symbol)).is_Integer:
                    found = {one: sympy.expand(known.subs(symbol, rest / factor)) for one, known in found.items()}
                    found[symbol] = sympy.expand(rest / factor)
                    break
    return found


def is_whole(size: Any) -> bool:
    """Whether a size is a number, or a polynomial of sizes, maybe with fractions."""
    symbols = sorted(size.free_symbols, key=str)
    return bool(size.is_polynomial(*symbols)) if symbols else bool(size.is_Integer)
