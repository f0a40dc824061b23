"""The config space of a candidate: found in its source, or stated in a space file.

A space file is TOML, or Python with one dict, and is parsed without running it. A space may only name tunables, because
changing any other number would change the result.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.errors import ConfigError
from kernelwright.source import AUTOTUNE, Tunable, find_tunables
from kernelwright.source import parse as syntax
from kernelwright.spaces.space import Parameter, Space, default, written
from kernelwright.spaces.written import candidate_for
from kernelwright.textfile import read_given

SHAPE = 'parameters = {name: [values]}, and restrictions = ["expression"] where there are any'

OPTIONS = ("num_warps", "num_stages")
"""Kinds of tunables that any launch has, in the source or by default."""


def found_space(source: str, autotune: Mapping[str, int], launched: Collection[str] = ()) -> Space:
    """The tunables of `source` with their choices, without idle ones and those of kernels that no call launches. Where
    a constant of the source gives `num_warps`, launches that write it as a number or omit it are not tuned: the author
    is assumed to have named what matters. The same for `num_stages`. autotune: by kernel whose list of configs the
    source computes, their number (`Evaluation.autotune`). launched: kernels; empty if not known. Raises `ConfigError`
    if nothing can be tuned."""
    every = [one for one in every_tunable(source, autotune) if not one.idle]
    every = [one for one in every if not (launched and one.kernels) or not set(one.kernels).isdisjoint(launched)]
    named = {one.kind for one in every if one.kind in OPTIONS and not is_of_launch(one)}
    tunables = [one for one in every if one.kind not in named or not is_of_launch(one)]
    if not tunables:
        raise ConfigError(
            "the candidate has no tunables: no num_warps, num_stages, constexpr block or triton.autotune that can be "
            "read with certainty",
            "give its kernel a tl.constexpr such as BLOCK, passed at the launch as a number or a name bound to one",
        )
    return Space(
        parameters=tuple(Parameter(name=one.key, choices=one.choices, default=one.default) for one in tunables)
    )


def is_of_launch(tunable: Tunable) -> bool:
    """Whether the value is a number at a launch, or missing there, rather than a constant of the source."""
    return "." in tunable.key


def every_tunable(source: str, autotune: Mapping[str, int]) -> list[Tunable]:
    found = list(find_tunables(source))
    known = {one.key for one in found}
    for kernel, count in sorted(autotune.items()):
        key = AUTOTUNE + kernel
        if count > 1 and key not in known:
            found.append(Tunable(key=key, default=0, choices=tuple(range(count)), kind="autotune", kernels=(kernel,)))
    return found


def stated_space(path: Path, source: str, autotune: Mapping[str, int]) -> Space:
    """The space that a file states. A parameter's choices always include the source's value.

    Raises `ConfigError` for a file that cannot be read, a parameter that is not a tunable, and a value that the source
    cannot have.
    """
    stated = read(path)
    tunables = {one.key: one for one in every_tunable(source, autotune)}
    parameters = []
    for name, values in stated["parameters"].items():
        if name not in tunables:
            raise ConfigError(
                f"{path} states {name!r}, which is no tunable of the candidate",
                f"its tunables: {', '.join(tunables) or 'none'}; other numbers would change what it computes",
            )
        parameters.append(parameter(path, name, values, tunables[name], source))
    space = Space(parameters=tuple(parameters), restrictions=tuple(stated["restrictions"]))
    default(space)
    return space


def parameter(path: Path, name: str, values: Any, tunable: Tunable, source: str) -> Parameter:
    if not isinstance(values, list) or not values or not all(type(value) is int for value in values):
        raise ConfigError(f"{path} gives {name} the values {values!r}; a list of integers was expected")
    for value in values:
        if tunable.kind == "autotune" and value not in tunable.choices:
            raise ConfigError(f"{path} gives {name} the value {value}; it has the configs 0 to {tunable.choices[-1]}")
        try:
            candidate_for(source, {name: value})
        except ConfigError as error:
            raise ConfigError(f"{path} gives {name} the value {value}: {error}") from error
    return Parameter(name=name, choices=tuple(sorted({*values, tunable.default})), default=tunable.default)


def read(path: Path) -> dict[str, Any]:
    """{"parameters": …, "restrictions": …} of a .toml or .py file."""
    text = read_given(path, ConfigError, f"write {SHAPE}", "the space file ")
    stated = from_python(path, text) if path.suffix == ".py" else from_toml(path, text)
    unknown = sorted(stated.keys() - {"parameters", "restrictions"})
    if unknown:
        raise ConfigError(f"{path} has the unknown key {unknown[0]!r}", f"write {SHAPE}")
    parameters, restrictions = stated.get("parameters"), stated.get("restrictions", [])
    if not isinstance(parameters, dict) or not parameters:
        raise ConfigError(f"{path} states no parameters", f"write {SHAPE}")
    if not isinstance(restrictions, list) or not all(isinstance(one, str) for one in restrictions):
        raise ConfigError(f"{path} has the restrictions {restrictions!r}; a list of texts was expected")
    return {"parameters": flat(parameters), "restrictions": restrictions}


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dots in the names: TOML reads the key `kernel.BLOCK` as a table in a table."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def from_toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a TOMLDecodeError, or an integer of more than 4300 digits
        raise ConfigError(f"{path} is not TOML: {error}", f"write {SHAPE}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply", f"write {SHAPE}") from error


def from_python(path: Path, text: str) -> dict[str, Any]:
    """The only dict in a Python file, as an expression or assigned to a name; comments and a docstring are allowed."""
    try:
        body = syntax.parse(text).body
        values = [value for statement in body if (value := dict_of(statement)) is not None]
        if len(values) == 1:
            return dict(ast.literal_eval(values[0]))
    except (SyntaxError, ValueError, TypeError) as error:
        raise ConfigError(f"{path} is not one dict of numbers and texts: {error}", f"write {SHAPE}") from error
    raise ConfigError(f"{path} holds {len(values)} dicts; one was expected", f"write {SHAPE}")


def dict_of(statement: ast.stmt) -> ast.Dict | None:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) else None
    return value if isinstance(value, ast.Dict) else None


def configs_from(rows: Sequence[Mapping[str, Any]], space: Space) -> tuple[list[dict[str, int]], int]:
    """Configs of `space` from the rows of a file, in their order without repetitions; and the number of unusable rows.

    A name in a row may omit the kernel's name (`BLOCK_M` for `matmul_kernel.BLOCK_M`) if it stays unique. Parameters
    that a row does not have get their default.
    """
    by_name: dict[str, list[str]] = {}
    for one in space.parameters:
        for name in {one.name, one.name.rpartition(".")[2]}:
            by_name.setdefault(name, []).append(one.name)
    found: list[dict[str, int]] = []
    useless = 0
    for row in rows:
        config = written(space)
        named = {by_name[name][0]: value for name, value in row.items() if len(by_name.get(name, ())) == 1}
        choices = {one.name: one.choices for one in space.parameters}
        if not named or any(value not in choices[name] for name, value in named.items()):
            useless += 1
            continue
        config |= named
        if config not in found:
            found.append(config)
    return found, useless
