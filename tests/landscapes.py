"""Synthetic spaces: times as a function of the config, some of them failures. No claim about any GPU."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelwright.spaces.space import Config, Parameter, Space

Landscape = tuple[Space, Callable[[Config], float | None]]


def powers(name: str, low: int, high: int, default: int) -> Parameter:
    return Parameter(name=name, choices=tuple(1 << power for power in range(low, high + 1)), default=default)


def bowl() -> Landscape:
    """Separable: each parameter has a best value of its own. 750 configs."""
    space = Space(
        parameters=(powers("A", 4, 8, 16), powers("B", 4, 8, 256), powers("C", 0, 4, 1), powers("W", 0, 5, 4))
    )
    best = {"A": 6, "B": 5, "C": 3, "W": 2}

    def time_us(config: Config) -> float:
        return 10 * math.exp(sum(0.15 * (math.log2(config[name]) - at) ** 2 for name, at in best.items()))

    return space, time_us


def ridge() -> Landscape:
    """Two parameters only matter through their product, one interacts with another. 625 configs."""
    space = Space(
        parameters=(powers("A", 3, 7, 32), powers("B", 3, 7, 32), powers("C", 0, 4, 1), powers("D", 0, 4, 16))
    )

    def time_us(config: Config) -> float:
        a, b, c, d = (math.log2(config[name]) for name in "ABCD")
        return 20 * (1 + 0.3 * abs(a + b - 11) + 0.1 * abs(a - 4) + 0.2 * abs(c - d / 2) + 0.05 * abs(c - 1))

    return space, time_us


def product() -> Landscape:
    """Like a tiled matrix product: waves of blocks, shared memory that runs out, warps that must fit."""
    space = Space(
        parameters=(
            powers("M", 5, 8, 128), powers("N", 5, 8, 128), powers("K", 5, 7, 32), powers("W", 2, 3, 8),
            Parameter(name="S", choices=(2, 3, 4, 5), default=3), Parameter(name="G", choices=(1, 8), default=8),
        ),
        restrictions=("M * N >= 64 * W",),
    )  # fmt: skip

    def time_us(config: Config) -> float | None:
        m, n, k, w, s, g = (config[name] for name in "MNKWSG")
        shared_bytes = 2 * s * k * (m + n)
        registers = m * n / (32 * w) + 40
        if shared_bytes > 232_448 or registers > 600:
            return None
        at_once = max(1, min(232_448 // shared_bytes, 65_536 // (32 * w * int(min(registers, 255))), 64 // w))
        blocks = (4096 // m) * (4096 // n)
        waves = math.ceil(blocks / (132 * at_once))
        intensity = 1 / (1 + 48 / m + 48 / n)
        hidden = 1 - 0.5 ** (s * at_once * k / 64)
        spills = 1 + max(0.0, registers - 255) / 60
        per_block = m * n / (intensity * hidden * (1 - 0.25 * abs(math.log2(m * n / (2048 * w))) / 4)) * spills
        return waves * at_once * per_block * (1.0 if g > 1 else 1.06) / 800

    return space, time_us


ALL = {"bowl": bowl, "ridge": ridge, "product": product}
