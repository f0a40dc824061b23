"""Convolutions that may multiply a zero of the padding by NaN or infinity.

The product is NaN, and a convolution that leaves out what lies beyond the input has no such product. Both are right:
PyTorch's depthwise kernel for GPUs leaves it out, its others multiply. The same goes for the gaps and borders of
transposed convolutions and of gradients.
"""

from __future__ import annotations

from typing import Any

from kernelwright.worker.reference.instance import Instance, Watching, outputs

FACTORS = {"convolution": ("weight",), "convolution_backward": ("weight", "grad_output")}
"""By operator, the arguments whose elements may be multiplied by such a zero."""


def meets_zeros(instance: Instance, operators: frozenset[str]) -> bool:
    """Whether a convolution of forward has padding, gaps or borders whose zeros may meet NaN or infinity, on the inputs
    of `instance`. operators: names of those in forward."""
    met: list[bool] = []

    def see(func: Any, args: Any, named: Any, made: Any) -> None:
        name = func._schema.name.partition("::")[2]
        if factors := FACTORS.get(name):
            given = dict(zip((one.name for one in func._schema.arguments), args, strict=False))
            if name != "convolution" or given["transposed"] or any(given["padding"]):
                met.extend(not bool(given[one].isfinite().all()) for one in factors)

    if not operators.isdisjoint(FACTORS):
        with Watching(see):
            outputs(instance)
    return any(met)
