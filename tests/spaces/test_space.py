"""Spaces: which configs there are, in which order, and which lie beside each other."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from kernelwright import codec
from kernelwright.errors import ConfigError
from kernelwright.spaces.space import (
    Parameter,
    Space,
    configs,
    default,
    distance,
    is_valid,
    key,
    neighbours,
    product_size,
    size,
)

SPACE = Space(
    parameters=(
        Parameter(name="M", choices=(16, 32, 64, 128), default=64),
        Parameter(name="N", choices=(16, 32, 64), default=32),
        Parameter(name="k.num_warps", choices=(2, 4, 8), default=4),
    ),
    restrictions=("M * N <= 4096", "k.num_warps < 8 or M >= 64"),
)


def test_configs_are_the_valid_ones_of_the_product_in_its_order() -> None:
    names = [parameter.name for parameter in SPACE.parameters]
    product = [
        dict(zip(names, values, strict=True))
        for values in itertools.product(*(parameter.choices for parameter in SPACE.parameters))
    ]
    expected = [
        config
        for config in product
        if config["M"] * config["N"] <= 4096 and (config["k.num_warps"] < 8 or config["M"] >= 64)
    ]
    assert list(configs(SPACE)) == expected
    assert size(SPACE) == len(expected) < product_size(SPACE) == len(product)
    assert [config for config in product if is_valid(SPACE, config)] == expected


def test_a_restricted_space_is_not_walked_through_in_full() -> None:
    letters = [Parameter(name=f"P{i}", choices=tuple(range(10)), default=0) for i in range(12)]
    narrow = Space(parameters=tuple(letters), restrictions=tuple(f"P{i} == 3" for i in range(12)))
    assert product_size(narrow) == 10**12
    assert list(configs(narrow)) == [{f"P{i}": 3 for i in range(12)}]


def test_what_is_no_config_of_the_space_is_not_valid() -> None:
    good = {"M": 16, "N": 16, "k.num_warps": 2}
    assert is_valid(SPACE, good)
    assert not is_valid(SPACE, {**good, "M": 17})
    assert not is_valid(SPACE, {**good, "M": 128, "N": 64})
    assert not is_valid(SPACE, {**good, "extra": 1})
    assert not is_valid(SPACE, {"M": 16, "N": 16})


def test_neighbours_differ_in_one_parameter_by_so_many_places() -> None:
    here = {"M": 32, "N": 32, "k.num_warps": 4}
    near = [key(SPACE, config) for config in neighbours(SPACE, here)]
    assert near == [(16, 32, 4), (64, 32, 4), (32, 16, 4), (32, 64, 4), (32, 32, 2)]
    far = [key(SPACE, config) for config in neighbours(SPACE, here, steps=2)]
    assert set(near) < set(far)
    assert (128, 32, 4) in far
    assert all(distance(SPACE, here, config) <= 2 for config in neighbours(SPACE, here, steps=2))


def test_the_default_is_the_written_one_or_the_nearest_that_is_allowed() -> None:
    assert default(SPACE) == {"M": 64, "N": 32, "k.num_warps": 4}
    forbidden = Space(parameters=SPACE.parameters, restrictions=("M < 64", "k.num_warps == 8"))
    assert default(forbidden) == {"M": 32, "N": 32, "k.num_warps": 8}
    with pytest.raises(ConfigError, match="no config satisfies"):
        default(Space(parameters=SPACE.parameters, restrictions=("M > 1000",)))


def test_a_space_without_parameters_has_one_empty_config() -> None:
    nothing = Space(parameters=())
    assert list(configs(nothing)) == [{}]
    assert size(nothing) == 1
    assert default(nothing) == {}


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="ascending"):
        Parameter(name="M", choices=(2, 1), default=1)
    with pytest.raises(ConfigError, match="ascending"):
        Parameter(name="M", choices=(), default=1)
    with pytest.raises(ConfigError, match="default 3"):
        Parameter(name="M", choices=(1, 2), default=3)
    one = Parameter(name="M", choices=(1,), default=1)
    with pytest.raises(ConfigError, match="once"):
        Space(parameters=(one, one))
    with pytest.raises(ConfigError, match="parameters are M"):
        Space(parameters=(one,), restrictions=("N > 1",))


def test_a_space_survives_being_written_and_is_checked_when_read() -> None:
    assert codec.decode(codec.encode(SPACE), Space) == SPACE
    damaged = codec.encode(SPACE).replace(b"M * N", b"M ** N")
    with pytest.raises((ConfigError, msgspec.ValidationError)):
        codec.decode(damaged, Space)
