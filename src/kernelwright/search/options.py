"""Options of a strategy: plain data checked against the record that states them.

It knows no strategy. The one rule: what is not understood is refused, so an option never silently does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from kernelwright.errors import ConfigError
from kernelwright.model import Record, Scalar

R = TypeVar("R", bound=Record)

MOST_AT_ONCE = 1000
"""Requests, parents or kernels of one round. A round is planned before its first request is asked, so that a number
without measure would plan for ever."""


def read_options(strategy: str, options: Mapping[str, Scalar], type: type[R]) -> R:
    """The record of type `type`; text from a command line ("4") is read as what the field wants.

    Raises `ConfigError` for an option that the strategy does not have and for a value that does not fit.
    """
    fields = msgspec.structs.fields(type)
    for name in options:
        if name not in {field.name for field in fields}:
            have = ", ".join(f"{field.name}={field.default}" for field in fields)
            raise ConfigError(f"strategy {strategy} has no option {name!r}", f"its options and defaults: {have}")
    try:
        return msgspec.convert(dict(options), type, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"strategy {strategy} cannot use {dict(options)}: {error}") from error
