"""Options of a search: their defaults, the settings file `kernelwright.toml`, and the settings of a run made from both.

The command line, the MCP server and Python programs share them. What was given directly wins over the file, the file
over the defaults. A field of the file that nothing reads is an error with its line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from kernelwright.codec import shared
from kernelwright.errors import ConfigError, RequestError
from kernelwright.jobs.worker import Notify
from kernelwright.model import Budget, Record, RunOptions, RunSettings
from kernelwright.options import did_you_mean
from kernelwright.propose import varies_numbers, writes_code
from kernelwright.search import FOR_NUMBERS, FOR_WRITERS
from kernelwright.textfile import read_given

NAME = "kernelwright.toml"
"""Read from the current folder where no other file is named."""

NO_LIMITS = Budget()
LIMITS = Budget.__struct_fields__

NO_OPTIONS = RunOptions()


class Defaults(Record, frozen=True, kw_only=True):
    """Options of a run that neither the user nor a settings file gives."""

    strategy: str = "beam"
    proposer: str = "builtin"
    seed: int = 0
    cases: Literal["stated", "derived"] = "derived"
    in_flight: int = 4
    """For each lane: one candidate is timed while others compile. On an H200 with 16 cores 6 keep the GPU busy
    (docs/searching.md)."""
    trials: int = 40
    """Where no limit of any kind is given: ten rounds of the default beam."""


DEFAULTS = Defaults()


class SettingsFile(NamedTuple):
    """A settings file and what it holds; no options where the file does not exist."""

    path: Path
    options: RunOptions


NO_FILE = SettingsFile(Path(NAME), NO_OPTIONS)


def read_settings(file: str | Path | None, notify: Notify) -> SettingsFile:
    """What `file` holds; None: `kernelwright.toml` in the current folder, where there is one.

    Raises `ConfigError` with the line of what cannot be used.
    """
    path = Path(NAME if file is None else file)
    if file is None and not path.exists():
        return NO_FILE
    text = read_given(path, ConfigError, "give a TOML file", "settings file ")
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError is one; a number of more than 4300 digits is another
        raise ConfigError(f"settings file {path} is not TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"settings file {path} is nested too deeply", "its fields are flat") from error
    options = checked(path, text, content)
    notify(f"settings from {path}")
    return SettingsFile(path, options)


def checked(path: Path, text: str, content: Mapping[str, Any]) -> RunOptions:
    """The options that a settings file holds. Raises `ConfigError`."""
    allowed = RunOptions.__struct_fields__
    for name in content:
        if name not in allowed:
            raise ConfigError(
                f"{path}, line {line_of(text, name)}: there is no field {name!r}",
                f"{did_you_mean(name, allowed)} its fields: {', '.join(allowed)}".lstrip(),
            )
    try:
        return msgspec.convert(content, RunOptions)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.(\w+)", str(error))
        name = found[1] if found else ""
        raise ConfigError(f"{path}, line {line_of(text, name)}: {name} cannot be used: {error}") from error


def line_of(text: str, name: str) -> int:
    """The line that sets a field or begins a table, counted from 1; 1 where no line does so by itself."""
    pattern = re.compile(rf"""^\s*(\[+\s*)?["']?{re.escape(name)}["']?\s*([=.\]])""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def read_options(given: Mapping[str, Any]) -> RunOptions:
    """Options from keyword arguments. Raises `RequestError` for one that does not exist or does not fit."""
    try:
        return msgspec.convert(given, RunOptions)
    except msgspec.ValidationError as error:
        raise RequestError(f"these options cannot be used: {error}", "see docs/settings.md for all of them") from error


def merge(given: RunOptions, file: RunOptions) -> RunOptions:
    """The options that were given, and those of the file where nothing was given.

    The file's options for a strategy or a proposer do not apply to another one that was given. Raises `RequestError`
    for a model or an address that was given twice.
    """
    own = given.proposer_option or {}
    same_strategy = given.strategy in (None, file.strategy)
    same_proposer = given.proposer in (None, file.proposer)
    found = {name: getattr(file, name) for name in file.__struct_fields__}
    for name in ("model", "base_url"):
        if name in own and getattr(given, name) is not None:
            raise RequestError(f"{name} is given twice", f"leave --proposer-option {name}=… out")
        if name in own or not same_proposer:
            found[name] = None
    found.update({name: value for name in given.__struct_fields__ if (value := getattr(given, name)) is not None})
    found["option"] = {**((file.option or {}) if same_strategy else {}), **(given.option or {})}
    found["proposer_option"] = {**((file.proposer_option or {}) if same_proposer else {}), **own}
    return RunOptions(**found)


def settings_from(options: RunOptions) -> RunSettings:
    """The settings of a new run, with defaults where no option is given. Raises `RequestError` without a problem."""
    if options.problem is None:
        raise RequestError("no problem is named", f"name one, or give problem = … in {NAME}")
    strategy, proposer = options.strategy or DEFAULTS.strategy, options.proposer or DEFAULTS.proposer
    named = {name: value for name in ("model", "base_url") if (value := getattr(options, name)) is not None}
    of_proposer = FOR_WRITERS if writes_code(proposer) else FOR_NUMBERS if varies_numbers(proposer) else {}
    strategy_options = {**(of_proposer if strategy != "random" else {}), **(options.option or {})}
    given = {name: value for name, value in shared(options, RunSettings).items() if value is not None}
    return RunSettings(
        **{name: getattr(DEFAULTS, name) for name in ("seed", "cases", "in_flight")} | given | {
            "strategy": strategy, "strategy_options": strategy_options,
            "proposer": proposer, "proposer_options": {**(options.proposer_option or {}), **named},
            "budget": Budget(trials=DEFAULTS.trials) if options.limits == NO_LIMITS else options.limits,
        },
    )  # fmt: skip
