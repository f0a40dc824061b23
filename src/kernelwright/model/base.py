"""What every record is made of."""

from __future__ import annotations

import msgspec

Scalar = bool | int | float | str
"""What a case parameter or a configuration value may be."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """Base of all records: immutable, keyword-only, strict when decoded."""
