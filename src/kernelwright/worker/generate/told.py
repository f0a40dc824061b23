"""Which symbol the host code reads from which shape, and the names that symbols have there."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

import sympy
from torch import SymInt, Tensor
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
        self._sides = [(sympy.S.One, sympy.S.One)]
        self._sides += [(_read(name, place), side) for name, place, side in sides if side.free_symbols]
        self._sides += [(_whole(text), symbols.of(one)) for text, one in symbols.plain.items() if type(one) is SymInt]
        self.direct: dict[sympy.Symbol, tuple[str, int]] = {}
        self.solved: list[Solved] = []
        for name, place, side in sides:
            if isinstance(side, sympy.Symbol):
                self.direct.setdefault(side, (name, place))
        self.known = {*self.direct}
        while found := next(filter(None, (*self._computed(symbols), *starmap(self._solve, self._sides))), None):
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
            elif above and not below:
                yield from self._dividend(symbols, one, dividend, divisor)

    def _dividend(
        self, symbols: Symbols, quotient: sympy.Symbol, dividend: sympy.Expr, divisor: sympy.Expr
    ) -> Iterator[Solved]:
        """The symbol of a dividend that is not known yet, beside known symbols, or beside a side that is a product."""
        is_whole, total = symbols.divides(divisor, dividend), quotient * divisor
        for here, side in self._sides:
            beside = whole_quotient(dividend, side)
            unknown = set() if beside is None else beside.free_symbols - self.known
            if len(unknown) != 1 or (parts := _linear(beside, symbol := unknown.pop())) is None:
                continue
            factor, rest = (part * here for part in parts)
            # Of as many numbers as the divisor is, at most one is a multiple of a factor that is no smaller.
            checks = () if is_whole else (sympy.Eq(sympy.Mod(total - rest, factor), 0), sympy.Ge(factor, divisor))
            if sympy.false not in checks:
                yield symbol, FloorDiv(total - rest, factor, evaluate=factor == 1), checks

    def _solve(self, here: sympy.Symbol, side: sympy.Expr) -> Solved | None:
        """The only symbol of a side that is not known yet. A shape for which it is not exact is refused later."""
        if len(unknown := side.free_symbols - self.known) != 1:
            return None
        symbol = unknown.pop()
        parts = _linear(side, symbol)
        return None if parts is None else (symbol, FloorDiv(here - parts[1], parts[0], evaluate=parts[0] == 1), ())


def _read(name: str, place: int) -> sympy.Symbol:
    return _whole(f"{as_argument(name)}.shape[{place}]")


def _whole(text: str) -> sympy.Symbol:
    return sympy.Symbol(text, integer=True, positive=True)


def _linear(side: sympy.Expr, symbol: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr] | None:
    """The factor of a symbol in an expression and the rest; None where it is not linear in the symbol."""
    if not side.is_polynomial(symbol) or sympy.degree(side, symbol) != 1:
        return None
    return side.coeff(symbol, 1), side.coeff(symbol, 0)


def whole_quotient(dividend: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr | None:
    """The quotient of two sums of products of sizes, with whole coefficients; None where the division leaves a rest."""
    free = sorted(dividend.free_symbols | divisor.free_symbols, key=str)
    if not free or not (dividend.is_polynomial() and divisor.is_polynomial()):
        return None
    whole, rest = sympy.div(dividend, divisor, *free)
    return whole if rest == 0 and all(one.is_Integer for one in sympy.Poly(whole, *free).coeffs()) else None


RESERVED = frozenset({"torch", "triton", "tl", "kernel_function", "max", "min", "tuple", "float"})


def named(symbols: Symbols, told: Told, taken: frozenset[str]) -> dict[sympy.Symbol, str]:
    """A name of the host code for each symbol: the problem's own, or that of the side that it is read from."""
    found = {one: text.name for one, text, _ in told.solved if text.is_Symbol and text.name.isidentifier()}
    taken |= {text.partition("[")[0] for text in symbols.plain}
    for one, name in symbols.names.items():
        if one in found:
            continue
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
