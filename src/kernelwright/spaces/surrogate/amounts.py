"""Derived features of configs: how much of a tile falls to each warp. Pure.

Registers per thread, the cliff behind which they spill, and the work between two memory accesses follow from the
product of two block sizes over the number of warps, and from none of the three alone; a model that sees the product
need not learn it from the few times that it has. It is a coordinate more, not a restriction: nothing is left out.

An amount is read off names that everybody uses (BLOCK…, TILE…, num_warps), and where those say nothing
there is none.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from kernelwright.source.names import PART_WORDS, words_of
from kernelwright.spaces.space import Config, Parameter, Space

MOST_BLOCKS = 4
"""Block sizes that are taken in pairs: more of them belong to several kernels, and most pairs to none."""


@dataclass(frozen=True)
class Amount:
    """The logarithm of some parameters' product over that of others. values: all that it can be, ascending."""

    times: tuple[str, ...]
    over: tuple[str, ...]
    values: tuple[float, ...]

    def place(self, config: Config) -> int:
        """Which of the values a config has."""
        return self.values.index(logarithm([config[name] for name in self.times], [config[name] for name in self.over]))

    @property
    def coordinates(self) -> list[float]:
        """Where the values lie between 0 and 1."""
        low, high = self.values[0], self.values[-1]
        return [(value - low) / (high - low) for value in self.values]


def amounts(space: Space) -> list[Amount]:
    """Every two block sizes over the warps, where there is one number of those."""
    varied = [parameter for parameter in space.parameters if len(parameter.choices) > 1 and parameter.choices[0] > 0]
    blocks = [one for one in varied if is_block(one)]
    warps = [one for one in varied if one.name.rpartition(".")[2] == "num_warps"]
    if len(blocks) > MOST_BLOCKS:
        return []
    return [amount(pair, tuple(warps) if len(warps) == 1 else ()) for pair in itertools.combinations(blocks, 2)]


def is_block(parameter: Parameter) -> bool:
    words = words_of(parameter.name.rpartition(".")[2])
    return any(part in word for word in words for part in PART_WORDS)


def amount(times: tuple[Parameter, ...], over: tuple[Parameter, ...]) -> Amount:
    every = itertools.product(
        itertools.product(*(one.choices for one in times)), itertools.product(*(one.choices for one in over))
    )
    values = sorted({logarithm(above, below) for above, below in every})
    return Amount(times=tuple(one.name for one in times), over=tuple(one.name for one in over), values=tuple(values))


def logarithm(times: tuple[int, ...] | list[int], over: tuple[int, ...] | list[int]) -> float:
    return round(math.log2(math.prod(times) / math.prod(over)), 9)
