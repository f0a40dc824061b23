"""Options of a strategy or a proposer, converted from plain data to the record that declares them.

Unknown options are refused, so that no option is silently without effect. Options are written to the journal, so no
option may be a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from kernelwright.errors import ConfigError
from kernelwright.model import Record, Scalar

SECRET_WORDS = ("api_key", "apikey", "key", "token", "secret", "password")

R = TypeVar("R", bound=Record)


def read_options(owner: str, options: Mapping[str, Scalar], type: type[R]) -> R:
    """The options as a record of type `type`; text from a command line ("4") is converted to the field's type. owner:
    the strategy or proposer for messages, such as "strategy beam".

    Raises `ConfigError` for an unknown option, a missing one, and a value that does not fit.
    """
    fields = msgspec.structs.fields(type)
    names = [field.name for field in fields]
    for name in options:
        if name in names:
            continue
        if name.lower() in SECRET_WORDS:
            raise ConfigError(
                f"{owner} takes no option {name!r}: options are kept in the run's journal",
                "put the key into the environment",
            )
        known = ", ".join(field.name if field.required else f"{field.name}={field.default}" for field in fields)
        raise ConfigError(f"{owner} has no option {name!r}", f"its options: {known}" if known else "it has none")
    for field in fields:
        if field.required and field.name not in options:
            typed = {"model": "--model NAME"}.get(field.name, f"{field.name}=…")
            raise ConfigError(f"{owner} needs the option {field.name}", f"give {typed}")
    try:
        return msgspec.convert(dict(options), type, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{owner} cannot use {dict(options)}: {error}") from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "did you mean softmax?", or "" if no known word is similar."""
    alike = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {alike[0]}?" if alike else ""
