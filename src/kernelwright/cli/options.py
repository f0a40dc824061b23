"""Option values as typed: `KEY=VALUE` pairs, candidate files, configs, limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kernelwright.errors import RequestError
from kernelwright.jobs.loading import read_candidate
from kernelwright.model import Candidate, Scalar
from kernelwright.textfile import parse_json, read_text


class Limit(click.FloatRange):
    """A finite number above 0: with NaN, which compares as neither more nor less, a limit would never be reached."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{found} is not finite; leave the option out for no limit.", param, ctx)
        return found


LIMIT = Limit()


def is_typed(ctx: click.Context, name: str) -> bool:
    """Whether the parameter `name` was given on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def flag_of(ctx: click.Context, name: str) -> str:
    """The option of the parameter `name`, as it is typed."""
    return next(param.opts[0] for param in ctx.command.params if param.name == name)


def scalar(text: str) -> Scalar:
    """A value as a person types it: true and false, then an int, then a float, else the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pairs(texts: Iterable[str], option: str) -> dict[str, Scalar]:
    """`KEY=VALUE` texts as a mapping; a key given twice is a fault."""
    found: dict[str, Scalar] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise RequestError(f"{option} {text!r} is not KEY=VALUE", f"write, for instance, {option} width=4")
        if key.strip() in found:
            raise RequestError(f"{option} gives {key.strip()!r} twice", "give each key once")
        found[key.strip()] = scalar(value.strip())
    return found


def config(texts: Iterable[str]) -> dict[str, int]:
    """A candidate's config from `KEY=VALUE` texts and JSON files, later ones winning over files."""
    typed: list[str] = []
    found: dict[str, Scalar] = {}
    for text in texts:
        if "=" in text:
            typed.append(text)
        else:
            found.update(_config_file(Path(text)))
    found.update(pairs(typed, "--config"))
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise RequestError(f"config value {key}={value!r} is not an integer", "tunables are integers")
    return {key: value for key, value in found.items() if isinstance(value, int)}


def candidate(file: str, config_texts: Iterable[str] = ()) -> Candidate:
    """The candidate whose source is in `file`, with the config that was typed."""
    return read_candidate(file, config(config_texts))


def _config_file(path: Path) -> dict[str, Scalar]:
    if not path.is_file():
        raise RequestError(f"--config {str(path)!r} is neither KEY=VALUE nor a file", "give either")
    try:
        content = parse_json(read_text(path))
    except ValueError as error:
        raise RequestError(f"config file {path} is not JSON: {error}", "write an object of integers") from error
    if not isinstance(content, dict):
        raise RequestError(f"config file {path} holds a {type(content).__name__}", "write an object of integers")
    return content
