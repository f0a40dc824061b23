"""The base of all records."""

from __future__ import annotations

from typing import Literal

import msgspec

Scalar = bool | int | float | str
"""What a case parameter or a configuration value may be."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """Base of all records: immutable, keyword-only, strict when decoded."""


LibraryMode = Literal["none", "finish", "any"]
"""Which operators of the framework a candidate's host code may call: none; reductions of what its own kernels wrote;
also products, convolutions, attention, sorting and cumulative operations."""
