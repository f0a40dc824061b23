"""How many terms are summed into an element of each output of a problem's cases: measured by gradients (`terms`) where
that is affordable, and scaled by sizes elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from kernelwright.errors import ProblemError
from kernelwright.model import Case, TensorSpec
from kernelwright.worker.judge import terms
from kernelwright.worker.reference.instance import Instance, Specs, cast, compulsory_bytes, is_out_of_memory

AFFORDABLE_BYTES, AFFORDABLE_FLOP = 1 << 24, 10**9
"""Limits without a GPU on a case that is not small: autograd computes each product several times, in float64."""

GRADIENTS_FRACTION = 1 / 64
"""Share of the device's memory that a case may take if its terms are measured by gradients: autograd keeps the tensors
of some dozen operators, in float64."""

GRADIENTS_FLOP = 10**12
"""Limit on the FLOP of that case: each product is computed several times, in float64."""


class TermCounts:
    """Of all cases of a problem. measured: what gradients showed of each output; None where there are none."""

    def __init__(
        self, device: str, cases: dict[str, Case], specs: dict[str, Specs], flop: dict[str, int]
    ) -> None:  # fmt: skip
        self.device, self.cases, self.specs, self.flop = device, cases, specs, flop
        self.measured: dict[str, list[int | None]] = {}

    def of(self, case: str, output: int, instance_of: Callable[[str], Instance]) -> float:
        """The number of terms summed into an element of an output. instance_of: gives the own inputs of a case.

        It is measured by gradients on the case itself if that is affordable. Otherwise it is measured on the largest
        affordable case and scaled by the ratio of two estimates from sizes: 1 stays 1, a row's length grows with the
        row. It is at most the estimate for the case. If no gradient exists, the estimate from FLOP counts or,
        without products, the smaller of the other two.
        """
        most = self._estimate(case)
        measurable = [name for name in self.cases if self._has_affordable_gradients(name)]
        source = case if case in measurable else max(measurable, key=self._size, default=None)
        found = None if source is None else self._terms_of(source, instance_of)[output]
        if found is None or source is None:
            return max(self._products(case) or min(self._per_output(case)), 1.0)
        if source == case or found == 1:
            return min(float(found), most)
        return max(1.0, min(1.0, found / self._estimate(source)) * most)

    def _terms_of(self, case: str, instance_of: Callable[[str], Instance]) -> list[int | None]:
        if case not in self.measured:
            try:
                self.measured[case] = terms.measured(cast(instance_of(case), "float64"))
            except (ProblemError, torch.OutOfMemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self.measured[case] = [None] * len(self.specs[case].outputs)
            if self.device != "cpu":
                torch.cuda.empty_cache()
        return self.measured[case]

    def _has_affordable_gradients(self, case: str) -> bool:
        if self.cases[case].small:
            return True
        most_bytes, most_flop = AFFORDABLE_BYTES, AFFORDABLE_FLOP
        if self.device != "cpu":
            memory = torch.cuda.get_device_properties(0).total_memory
            most_bytes, most_flop = int(memory * GRADIENTS_FRACTION), GRADIENTS_FLOP
        return self._size(case) <= most_bytes and self.flop[case] <= most_flop

    def _size(self, case: str) -> int:
        return compulsory_bytes(self.specs[case])

    def _estimate(self, case: str) -> float:
        """The largest estimate from sizes: FLOP or inputs per output element, or the longest last dimension."""
        consumed, longest = self._per_output(case)
        return max(self._products(case), consumed, longest, 1.0)

    def _products(self, case: str) -> float:
        return self.flop[case] / (2 * self.produced(case))

    def produced(self, case: str) -> int:
        return max(1, sum(math.prod(spec.shape) for spec in self.specs[case].outputs))

    def _per_output(self, case: str) -> tuple[float, float]:
        """Input elements per output element, and the longest last dimension of an input."""
        shapes = [spec.shape for spec in self.specs[case].inputs if isinstance(spec, TensorSpec)]
        consumed = sum(math.prod(shape) for shape in shapes) / self.produced(case)
        return consumed, float(max((shape[-1] for shape in shapes if shape), default=1))
