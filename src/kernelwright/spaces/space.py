"""The config space of a tuning: parameters with their choices, and restrictions on combinations.

`tunables` finds the parameters in a source, or a person states them. A config assigns to every parameter one of its
choices; it belongs to the space only if it satisfies every restriction.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from kernelwright.errors import ConfigError
from kernelwright.model import Record
from kernelwright.spaces.restriction import Restriction, read_restriction

Config = dict[str, int]
"""A value for each parameter, by name."""


class Parameter(Record, frozen=True, kw_only=True):
    """One tunable number. name: as in the source's tunables ("BLOCK_M", "matmul_kernel.num_warps"). choices: ascending.
    default: one of the choices. Raises `ConfigError` otherwise."""

    name: str
    choices: tuple[int, ...]
    default: int

    def __post_init__(self) -> None:
        if not self.choices or list(self.choices) != sorted(set(self.choices)):
            raise ConfigError(f"{self.name} has the choices {self.choices}: ascending numbers were expected")
        if self.default not in self.choices:
            raise ConfigError(f"{self.name} has the default {self.default}: expected one of {self.choices}")


class Space(Record, frozen=True, kw_only=True):
    """A space. restrictions: Python expressions over parameter names that must be true, such as
    "BLOCK_M * BLOCK_N <= 128 * 128 or matmul_kernel.num_warps >= 8" (see `restriction`). Raises `ConfigError` for a
    repeated parameter name and for a restriction that cannot be read."""

    parameters: tuple[Parameter, ...]
    restrictions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) != len(names):
            raise ConfigError(f"a space with the parameters {', '.join(names)}: each name was expected once")
        read_restrictions(self.restrictions, tuple(names))


def configs(space: Space) -> Iterator[Config]:
    """Every config of the space in canonical order: the last parameter changes fastest, choices ascend.

    A restriction is tested as soon as its parameters have values, so excluded parts of the space are skipped.
    """
    ready = _restrictions_by_depth(space)
    chosen: Config = {}

    def walk(depth: int) -> Iterator[Config]:
        if depth == len(space.parameters):
            yield dict(chosen)
            return
        parameter = space.parameters[depth]
        for choice in parameter.choices:
            chosen[parameter.name] = choice
            if all(restriction.holds(chosen) for restriction in ready[depth]):
                yield from walk(depth + 1)

    return walk(0)


def size(space: Space) -> int:
    """Number of configs of the space; without restrictions the product of the numbers of choices, otherwise counted."""
    return _counted(space) if space.restrictions else product_size(space)


def product_size(space: Space) -> int:
    """Number of configs that the space would have without restrictions."""
    return math.prod(len(parameter.choices) for parameter in space.parameters)


def is_valid(space: Space, config: Config) -> bool:
    """Whether `config` belongs to the space: these parameters and no others, choices only, every restriction true."""
    if len(config) != len(space.parameters):
        return False
    if any(config.get(parameter.name) not in parameter.choices for parameter in space.parameters):
        return False
    names = tuple(parameter.name for parameter in space.parameters)
    return all(restriction.holds(config) for restriction in read_restrictions(space.restrictions, names))


def neighbours(space: Space, config: Config, steps: int = 1) -> list[Config]:
    """The configs of the space that differ in one parameter by at most `steps` places in its list of choices."""
    return [
        near
        for parameter in space.parameters
        for choice in choices_near(parameter, config[parameter.name], steps)
        if is_valid(space, near := {**config, parameter.name: choice})
    ]


def choices_near(parameter: Parameter, value: int, steps: int) -> tuple[int, ...]:
    """The other choices at most `steps` places away; `value` must be a choice."""
    place = parameter.choices.index(value)
    return parameter.choices[max(0, place - steps) : place] + parameter.choices[place + 1 : place + 1 + steps]


def written(space: Space) -> Config:
    """The parameters' defaults: the config of the unchanged source."""
    return {parameter.name: parameter.default for parameter in space.parameters}


def default(space: Space) -> Config:
    """The parameters' defaults; if a restriction excludes these, the nearest config by `distance`.

    Raises `ConfigError` for a space without any config.
    """
    plain = written(space)
    if is_valid(space, plain):
        return plain
    nearest = min(configs(space), key=lambda config: distance(space, config, plain), default=None)
    if nearest is None:
        raise ConfigError(
            f"no config satisfies all of {'; '.join(space.restrictions)}", "loosen a restriction or add choices"
        )
    return nearest


def distance(space: Space, one: Config, other: Config) -> int:
    """The sum over all parameters of the distance of two configs in the list of choices."""
    return sum(
        abs(parameter.choices.index(one[parameter.name]) - parameter.choices.index(other[parameter.name]))
        for parameter in space.parameters
    )


def key(space: Space, config: Config) -> tuple[int, ...]:
    """The values in the space's order, as a hashable key of a config."""
    return tuple(config[parameter.name] for parameter in space.parameters)


@functools.lru_cache(maxsize=64)
def read_restrictions(restrictions: tuple[str, ...], names: tuple[str, ...]) -> tuple[Restriction, ...]:
    return tuple(read_restriction(text, names) for text in restrictions)


@functools.lru_cache(maxsize=16)
def _counted(space: Space) -> int:
    return sum(1 for _ in configs(space))


def _restrictions_by_depth(space: Space) -> list[list[Restriction]]:
    """For each parameter, the restrictions in which it is the last parameter; restrictions without names are with the
    first parameter."""
    names = tuple(parameter.name for parameter in space.parameters)
    by_depth: list[list[Restriction]] = [[] for _ in names]
    for restriction in read_restrictions(space.restrictions, names):
        by_depth[max((names.index(name) for name in restriction.names), default=0)].append(restriction)
    return by_depth
