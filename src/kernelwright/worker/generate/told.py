"""Which symbol the host code reads from which shape, and the names that symbols have there."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

import sympy
from torch import Tensor
from torch.utils._sympy.functions import FloorDiv

from kernelwright.source.parameter_names import as_argument

if TYPE_CHECKING:
    from kernelwright.worker.generate.symbols import Symbols

LEAST_PART = 256
"""Minimum number of elements that a part of a reduction has at small sizes: a derived case of 20,000 elements
(`worker/reference/derive.py`) then has some dozens of parts, which an interpreter runs in a second."""

Solved = tuple[sympy.Symbol, sympy.Expr, tuple[Any, ...]]
"""A symbol, what it is computed from, and what has to be true for that."""


class Told:
    """Which symbol is read from which shape.

    direct: the place of each symbol that is a side of a tensor. solved: those that are computed from a side, with what
    has to be true for that. untold: those that no shape tells."""

    def __init__(self, symbols: Symbols, tensors: Mapping[str, Tensor]) -> None:
        sides = [
            (name, place, symbols.of(side)) for name, one in tensors.items() for place, side in enumerate(one.shape)
        ]
        self.direct: dict[sympy.Symbol, tuple[str, int]] = {}
        self.solved: list[Solved] = []
        for name, place, side in sides:
            if isinstance(side, sympy.Symbol):
                self.direct.setdefault(side, (name, place))
        self.known = {*self.direct}
        while found := next((one for one in (*self._computed(symbols), *starmap(self._solve, sides)) if one), None):
            self.known.add(found[0])
            self.solved.append(found)
        self.untold = [one for one in symbols.values if one not in self.known and symbols.of(one) == one]

    def _computed(self, symbols: Symbols) -> Iterator[Solved | None]:
        """Quotients of known sizes, divisors and dividends of known ones, and numbers of parts. At the captured size a
        reduction has the parts that Inductor chose, and at smaller ones fewer, none of which is empty."""
        cdiv, larger = sympy.Function("triton.cdiv"), sympy.Function("max")
        for (length, count), one in symbols.parts.items():
            length = symbols.of(length)
            if one not in self.known and length.free_symbols <= self.known:
                least = min(LEAST_PART, symbols.hint(length) // count)
                yield one, cdiv(length, larger(least, cdiv(length, count))), ()
        for one, (dividend, divisor, added) in symbols.quotients.items():
            dividend, divisor = symbols.of(dividend), symbols.of(divisor)
            above, below = (part.free_symbols - self.known for part in (dividend, divisor))
            new = (side := symbols.of(one)).free_symbols - self.known  # it may be another symbol plus a number
            if len(new) == 1 and not above | below and (rest := side - (symbol := new.pop())).is_number:
                yield symbol, FloorDiv(dividend, divisor, evaluate=False) + added - rest, ()
            if side != one or one not in self.known or added:
                continue
            if below == {divisor} and not above:
                # Only a quotient without remainder tells its divisor.
                yield divisor, FloorDiv(dividend, one, evaluate=False), (sympy.Eq(sympy.Mod(dividend, one), 0),)
            elif above == {dividend} and not below and symbols.divides(divisor, dividend):
                yield dividend, one * divisor, ()

    def _solve(self, name: str, place: int, side: sympy.Expr) -> Solved | None:
        """The only symbol of a side that is not known yet. A shape for which it is not exact is refused later."""
        if len(unknown := side.free_symbols - self.known) != 1:
            return None
        symbol, here = unknown.pop(), sympy.Symbol(f"{as_argument(name)}.shape[{place}]", integer=True, positive=True)
        if not side.is_polynomial(symbol) or sympy.degree(side, symbol) != 1:
            return None
        factor, rest = side.coeff(symbol, 1), side.coeff(symbol, 0)
        return symbol, FloorDiv(here - rest, factor, evaluate=factor == 1), ()


RESERVED = frozenset({"torch", "triton", "tl", "kernel_function", "max", "min", "tuple", "float"})


def named(symbols: Symbols, told: Told, taken: frozenset[str]) -> dict[sympy.Symbol, str]:
    """A name of the host code for each symbol: the problem's own, or that of the side that it is read from."""
    found: dict[sympy.Symbol, str] = {}
    for one, name in symbols.names.items():
        quotient, at = symbols.quotients.get(one), told.direct.get(one)
        if quotient is not None or one in symbols.sides:
            base = found[symbols.sides[one]] if quotient is None else _base(quotient, symbols, found)
            name = next(text for n in range(1, 1000) if (text := f"{base}_{n}") not in {*taken, *found.values()})
        elif not name.isidentifier() or keyword.iskeyword(name) or name in {*taken, *RESERVED}:
            name = f"{as_argument(at[0])}_size{at[1]}" if at else f"size_{len(found)}"
        while name in {*taken, *RESERVED, *found.values()}:
            name += "_"
        found[one] = name
    return found


def _base(quotient: tuple[sympy.Expr, sympy.Expr, int], symbols: Symbols, found: Mapping[sympy.Symbol, str]) -> str:
    """The name after which a quotient is named."""
    if quotient[1] in symbols.parts.values():
        return "part"
    return found[min(quotient[0].free_symbols or quotient[1].free_symbols, key=str)]
