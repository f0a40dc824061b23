"""From the Triton text that torch.compile's Inductor generates to a candidate. Pure syntax: no torch.

Texts of one problem at several sizes are compared (`compare`); numbers that differ become expressions of the shapes
of arguments (`sizes`). Kernels get readable names and functions of our own (`kernels`, `functions`), the host code
explicit grids (`host`). Where the library is the computation there is no candidate (`left`). What cannot be converted
ends the conversion with its name.
"""

from __future__ import annotations

from kernelwright.inductor.candidate import candidate_text, candidate_texts
from kernelwright.inductor.faults import LeaveIt, NotConverted

__all__ = ["LeaveIt", "NotConverted", "candidate_text", "candidate_texts"]
