"""The base class of all records, and types that several of them use."""

from __future__ import annotations

from typing import Literal

import msgspec

Scalar = bool | int | float | str
"""Type of a case parameter or an option value."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """Base class of all records: immutable, keyword-only; decoding refuses unknown fields."""


LibraryMode = Literal["none", "finish", "any"]
"""Which operators of the framework a candidate's host code may call. "none": none. "finish": reductions of values that
its own kernels wrote. "any": every operator that only computes new tensors, without random numbers and sizes that
depend on data."""
