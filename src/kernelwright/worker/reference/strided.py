"""Copies of the smallest case with other layouts of the inputs: padded and misaligned, or with nothing adjacent.

The values are the same. A candidate that is not right on them serves dense inputs only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from kernelwright.model import TensorSpec
from kernelwright.worker.reference.instance import Specs


def strided(specs: Specs) -> Specs:
    """`specs` with padded layouts: every tensor starts one element into its storage, and its rows are three elements
    further apart than they are long. The elements of a vector stay adjacent: callers do not pass every second one."""

    def laid(spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        stride = [1]
        for position, size in enumerate(reversed(spec.shape[1:])):
            stride.insert(0, stride[0] * (size + (3 if position == 0 else 0)))
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1)

    return replace(specs, inputs=tuple(map(laid, specs.inputs)))


def apart(specs: Specs) -> Specs:
    """`specs` with layouts that share nothing with dense ones: no two elements are adjacent, dimensions lie in another
    order with gaps between them, and each input has its own layout. For problems that state LAYOUTS = "any"."""

    def laid(position: int, spec: Any) -> Any:
        if not isinstance(spec, TensorSpec) or math.prod(spec.shape) < 2 or 0 in spec.stride:
            return spec
        places = range(len(spec.shape))
        order = sorted(places, key=lambda place: (place + position) % len(spec.shape))  # innermost first
        stride, step = [0] * len(spec.shape), 2 + position
        for place in order:
            stride[place], step = step, step * spec.shape[place] + 1 + position
        return TensorSpec(shape=spec.shape, dtype=spec.dtype, stride=tuple(stride), offset=1 + position)

    return replace(specs, inputs=tuple(laid(position, spec) for position, spec in enumerate(specs.inputs)))
