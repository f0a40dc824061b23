"""What every sampler keeps to."""

from __future__ import annotations

import importlib.util
import random
from collections import deque

import pytest

from kernelwright.errors import ConfigError
from kernelwright.spaces import SAMPLERS, build_sampler
from kernelwright.spaces.protocol import Sampler
from kernelwright.spaces.space import Config, Parameter, Space, configs, default, is_valid, key

NEEDS = {"optuna": "optuna"}

every_sampler = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None,
                reason=f"{NEEDS.get(name)} is not installed",
            ),
        )
        for name in SAMPLERS
    ],
)

SPACE = Space(
    parameters=(
        Parameter(name="M", choices=(16, 32, 64, 128), default=64),
        Parameter(name="N", choices=(16, 32, 64), default=32),
        Parameter(name="k.num_stages", choices=(0, 1, 3, 4), default=3),
        Parameter(name="one", choices=(7,), default=7),
    ),
    restrictions=("M * N <= 4096",),
)


def time_us(config: Config) -> float | None:
    """Some fail; the rest depend on every parameter."""
    if config["M"] == 16 and config["N"] == 16:
        return None
    return 1000 / config["M"] + config["N"] / 8 + 3 * abs(config["k.num_stages"] - 1)


def searched(sampler: Sampler, space: Space = SPACE, under_way: int = 1, shuffled: int | None = None) -> list[Config]:
    """Everything that it asks for, told by `time_us` in the order asked, or in a random one."""
    asked: list[Config] = []
    waiting: deque[Config] = deque()
    chance = random.Random(shuffled)
    while True:
        while len(waiting) < under_way and (config := sampler.ask()) is not None:
            asked.append(dict(config))
            waiting.append(config)
            assert len(asked) <= 1000, "it never ends"
        if not waiting:
            return asked
        if shuffled is not None:
            chance.shuffle(waiting)
        config = waiting.popleft()
        sampler.tell(config, time_us(config) if space is SPACE else None)


@every_sampler
@pytest.mark.parametrize("under_way", [1, 5])
def test_it_asks_for_every_config_once_and_then_for_nothing(name: str, under_way: int) -> None:
    sampler = build_sampler(name, SPACE, seed=3)
    asked = [key(SPACE, config) for config in searched(sampler, under_way=under_way)]
    assert len(asked) == len(set(asked))
    assert set(asked) == {key(SPACE, config) for config in configs(SPACE)}
    assert sampler.ask() is None


@every_sampler
def test_the_same_seed_and_tells_give_the_same_asks(name: str) -> None:
    one = searched(build_sampler(name, SPACE, seed=5), under_way=3, shuffled=1)
    again = searched(build_sampler(name, SPACE, seed=5), under_way=3, shuffled=1)
    assert one == again


@every_sampler
def test_another_seed_gives_other_asks_unless_the_order_is_fixed(name: str) -> None:
    searches = [searched(build_sampler(name, SPACE, seed=seed)) for seed in range(3)]
    assert any(search != searches[0] for search in searches) == (name != "exhaustive")


@every_sampler
def test_the_first_configs_come_first_and_bad_or_repeated_ones_are_left_out(name: str) -> None:
    good = {"M": 128, "N": 16, "k.num_stages": 4, "one": 7}
    other = {"M": 16, "N": 64, "k.num_stages": 0, "one": 7}
    first = (good, {**good, "M": 48}, good, {**good, "N": 64}, {"M": 128}, other, default(SPACE))
    asked = searched(build_sampler(name, SPACE, seed=0, first=first))
    assert asked[:3] == [good, other, default(SPACE)]
    assert len(asked) == len({key(SPACE, config) for config in asked})


@every_sampler
def test_it_survives_that_everything_fails(name: str) -> None:
    sampler = build_sampler(name, SPACE, seed=1)
    count = 0
    while (config := sampler.ask()) is not None:
        sampler.tell(config, None)
        count += 1
    assert count == sum(1 for _ in configs(SPACE))


@every_sampler
def test_it_survives_that_everything_takes_the_same_time(name: str) -> None:
    sampler = build_sampler(name, SPACE, seed=1)
    count = 0
    while (config := sampler.ask()) is not None:
        sampler.tell(config, 10.0)
        count += 1
    assert count == sum(1 for _ in configs(SPACE))


@every_sampler
def test_what_it_was_told_without_asking_is_not_asked_for(name: str) -> None:
    sampler = build_sampler(name, SPACE, seed=2)
    known = [config for number, config in enumerate(configs(SPACE)) if number % 3 == 0]
    for config in known:
        sampler.tell(config, time_us(config))
    asked = [key(SPACE, config) for config in searched(sampler)]
    assert set(asked) == {key(SPACE, config) for config in configs(SPACE)} - {key(SPACE, config) for config in known}


@every_sampler
def test_a_config_that_was_handed_out_may_be_changed(name: str) -> None:
    sampler, spoilt = build_sampler(name, SPACE, seed=2), build_sampler(name, SPACE, seed=2)
    for _ in range(20):
        config, other = sampler.ask(), spoilt.ask()
        assert config is not None
        assert other == config
        sampler.tell(config, time_us(config))
        spoilt.tell(other, time_us(config))
        other.clear()


@every_sampler
def test_a_told_config_from_outside_the_space_does_no_harm(name: str) -> None:
    sampler = build_sampler(name, SPACE, seed=2)
    sampler.tell({"M": 48, "N": 16, "k.num_stages": 1, "one": 7}, 1.0)
    sampler.tell({"M": 128, "N": 64, "k.num_stages": 1, "one": 7}, 1.0)
    asked = searched(sampler)
    assert {key(SPACE, config) for config in asked} == {key(SPACE, config) for config in configs(SPACE)}


@every_sampler
def test_a_space_of_one_config_ends_after_it(name: str) -> None:
    single = Space(parameters=(Parameter(name="A", choices=(4,), default=4),))
    assert searched(build_sampler(name, single, seed=0), single) == [{"A": 4}]
    nothing = Space(parameters=())
    assert searched(build_sampler(name, nothing, seed=0), nothing) == [{}]


@every_sampler
def test_a_space_without_any_config_is_refused_or_ends_at_once(name: str) -> None:
    impossible = Space(parameters=(Parameter(name="A", choices=(4,), default=4),), restrictions=("A > 4",))
    if name in ("model", "local"):  # these begin at the default
        with pytest.raises(ConfigError, match="no config satisfies all of A > 4"):
            build_sampler(name, impossible, seed=0)
    else:
        assert build_sampler(name, impossible, seed=0).ask() is None


@every_sampler
def test_a_space_too_large_to_list_is_searched_too(name: str) -> None:
    large = Space(
        parameters=tuple(Parameter(name=f"P{i}", choices=(1, 2, 4, 8, 16), default=4) for i in range(12)),
        restrictions=("P0 * P1 <= 64",),
    )
    sampler = build_sampler(name, large, seed=0)
    seen = set()
    for _ in range(25):
        config = sampler.ask()
        assert config is not None
        assert is_valid(large, config)
        seen.add(key(large, config))
        sampler.tell(config, float(sum(config.values())))
    assert len(seen) == 25


def test_an_unknown_sampler_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no sampler 'annealing'.*model, local, random, exhaustive, optuna"):
        build_sampler("annealing", SPACE, seed=0)
