"""Conversion of the Triton code that torch.compile's Inductor generates into a candidate. Pure syntax: no torch.

Symbols in its text become sizes, which are read from the arguments' shapes (`symbolic`). Kernels get readable names,
and Inductor's helper functions are replaced (`kernels`, `functions`). The host code gets explicit grids (`host`). Where
a library call is the whole computation, candidates have Triton templates in its place, with float32 products on tensor
cores (`products`). Code that cannot be converted raises `NotConverted`; its message names that code.
"""

from __future__ import annotations

from kernelwright.inductor.candidate import candidate_text, candidate_texts, library_call
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.products import can_split

__all__ = ["NotConverted", "can_split", "candidate_text", "candidate_texts", "library_call"]
