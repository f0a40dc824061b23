"""`kernelwright.toml`: what `optimize` would otherwise be told by options, in a file.

It decides nothing by itself. The rule: a field is the option of the same name, what is typed wins over it, and a field
that nothing reads is a fault with its line.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kernelwright.cli.output import note
from kernelwright.errors import ConfigError
from kernelwright.model import Record, Scalar
from kernelwright.textfile import read_text

NAME = "kernelwright.toml"
"""Read from the current folder where no other file is named."""

Positive = Annotated[int, Meta(ge=1)]
PositiveFloat = Annotated[float, Meta(gt=0, le=sys.float_info.max)]


class RunFile(Record, frozen=True, kw_only=True):
    """Each field is an option of `optimize`; None: not said. option and proposer_option are tables."""

    problem: str | None = None
    starter: str | None = None
    strategy: str | None = None
    option: dict[str, Scalar] | None = None
    proposer: str | None = None
    proposer_option: dict[str, Scalar] | None = None
    model: str | None = None
    base_url: str | None = None
    trials: Positive | None = None
    minutes: PositiveFloat | None = None
    tokens: Positive | None = None
    usd: PositiveFloat | None = None
    gpu_seconds: PositiveFloat | None = None
    seed: int | None = None
    in_flight: Positive | None = None
    dtype: str | None = None
    control: Literal["random"] | None = None
    lessons: str | None = None
    unqualified: bool | None = None
    out: str | None = None
    target: str | None = None


def read_settings(file: str | None) -> RunFile:
    """What `file` says, else what `kernelwright.toml` in the current folder says, else nothing.

    Raises `ConfigError` with the line of what cannot be used.
    """
    # Imported here: the other verbs do not need a TOML reader.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    path = Path(NAME if file is None else file)
    if file is None and not path.exists():
        return RunFile()
    try:
        text = read_text(path)
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"settings file {path} cannot be read: {error}", "give a TOML file") from error
    except ValueError as error:  # TOMLDecodeError is one; a number of more than 4300 digits is another
        raise ConfigError(f"settings file {path} is not TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"settings file {path} is nested too deeply", "its fields are flat") from error
    settings = checked(path, text, content)
    note(f"settings from {path}")
    return settings


def checked(path: Path, text: str, content: Mapping[str, Any]) -> RunFile:
    """The record of the file's content. Raises `ConfigError`."""
    allowed = RunFile.__struct_fields__
    for name in content:
        if name not in allowed:
            meant = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {meant[0]}? " if meant else ""
            raise ConfigError(
                f"{path}, line {line_of(text, name)}: there is no field {name!r}",
                f"{hint}its fields: {', '.join(allowed)}",
            )
    try:
        return msgspec.convert(content, RunFile)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.(\w+)", str(error))
        name = found[1] if found else ""
        raise ConfigError(f"{path}, line {line_of(text, name)}: {name} cannot be used: {error}") from error


def line_of(text: str, name: str) -> int:
    """The line on which a field is set or a table begins, counted from 1; the first where it is nowhere by itself."""
    pattern = re.compile(rf"""^\s*(\[+\s*)?["']?{re.escape(name)}["']?\s*([=.\]])""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)
