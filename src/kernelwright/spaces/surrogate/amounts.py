"""Derived features of configs for the surrogate model: the size of a tile per warp.

Registers per thread, the onset of spills, and the work between two memory accesses depend on the product of two block
sizes over the number of warps, and on none of the three alone. A model with this feature need not learn the product
from few measurements. The feature is an additional coordinate; it excludes no config.

Block sizes and warps are recognised by usual names (BLOCK…, TILE…, num_warps); without such names there is no feature.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from kernelwright.source.names import PART_WORDS, words_of
from kernelwright.spaces.space import Config, Parameter, Space

MOST_BLOCKS = 4
"""With more block sizes than this there are no features: they belong to several kernels, and most pairs are not used
together."""


@dataclass(frozen=True)
class Amount:
    """A feature: the binary logarithm of the product of the parameters `times` over the product of the parameters
    `over`. values: all possible values, ascending."""

    times: tuple[str, ...]
    over: tuple[str, ...]
    values: tuple[float, ...]

    def place(self, config: Config) -> int:
        """The index of a config's value in `values`."""
        return self.values.index(logarithm([config[name] for name in self.times], [config[name] for name in self.over]))

    @property
    def coordinates(self) -> list[float]:
        """The values scaled to 0 to 1."""
        low, high = self.values[0], self.values[-1]
        return [(value - low) / (high - low) for value in self.values]


def amounts(space: Space) -> list[Amount]:
    """A feature for every pair of block sizes: their product over num_warps, if the space has exactly one num_warps,
    else their product."""
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
