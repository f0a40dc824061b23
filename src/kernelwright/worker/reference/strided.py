"""A small case once more, its inputs laid out in memory as the problem does not lay them out.

Values are the same. What host code accepts it has to compute right, and inputs that are padded and not
aligned are what it will be given one day.
"""

from __future__ import annotations

import math
from typing import Any

from kernelwright.model import TensorSpec
from kernelwright.worker.judge.draws import Draws
from kernelwright.worker.reference.instance import Specs

STRIDED = "strided"
"""The last part of the name of such a case."""


def with_strided(draws: Draws) -> tuple[dict[str, Specs], dict[str, str]]:
    """The specs of every case and of the smallest small one once more, laid out otherwise; the name of that one's
    original by its own."""
    small = [name for name, (case, _) in draws.cases.items() if case.small]
    if not small:
        return draws.specs, {}
    name = min(small, key=draws.input_bytes)
    return {**draws.specs, f"{name}/{STRIDED}": strided(draws.specs[name])}, {f"{name}/{STRIDED}": name}


def strided(specs: Specs) -> Specs:
    """The same values to be laid out otherwise: every tensor starts one element into its storage and its rows are
    three elements further apart than they are long; a vector takes every second element."""

    def laid(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        stride = [2 if len(spec.shape) == 1 else 1]
        for position, size in enumerate(reversed(spec.shape[1:])):
            stride.insert(0, stride[0] * (size + (3 if position == 0 else 0)))
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1)

    return Specs(inputs=tuple(map(laid, specs.inputs)), outputs=specs.outputs, parameters=specs.parameters)
