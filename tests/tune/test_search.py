"""The search: what is asked, compiled, tried and told, and in which order."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import SimpleNamespace

import msgspec
import pytest

from kernelwright.model import Status
from kernelwright.spaces.samplers.simple import Draws, exhaustive, random_draws
from kernelwright.spaces.space import Config, Parameter, Space, configs, default
from kernelwright.tune.records import CaseTime, Found, Settings, Tried
from kernelwright.tune.search import Search
from tuned import DEFAULT, SPACE, FakeDevice, passed

LARGE = Space(parameters=(*SPACE.parameters, Parameter(name="GROUP", choices=tuple(range(1, 101)), default=1)))


def searched(
    device: FakeDevice, space: Space = SPACE, imported: tuple[Config, ...] = (), factory: object = random_draws,
    **settings: object,
) -> Search:  # fmt: skip
    given = Settings(**{"trials": 12, "in_flight": 3, **settings})  # type: ignore[arg-type]
    sampler = factory(space, given.seed, first=(default(space), *imported))  # type: ignore[operator]
    search = Search(device, space, sampler, imported, given, lambda tried: None)
    search.run()
    return search


def told(search: Search) -> list[tuple[str, tuple[int, ...], float | None]]:
    return [(one.name, tuple(one.config.values()), one.score_us) for one in search.tried]


def test_the_default_is_tried_first_then_what_a_file_named_then_the_sampler_s_own() -> None:
    seed = {"BLOCK": 32, "k.num_warps": 1}
    tried = searched(FakeDevice(), imported=(seed,)).tried
    assert [(one.origin, one.config) for one in tried[:2]] == [("default", DEFAULT), ("imported", seed)]
    assert {one.origin for one in tried[2:]} == {"sampler"}
    assert [one.name for one in tried[:4]] == ["default", "gen_0_var_1", "gen_0_var_2", "gen_1_var_0"]


def test_nothing_is_tried_twice_and_the_whole_space_is_tried_without_a_limit() -> None:
    device = FakeDevice()
    search = searched(device, trials=None, factory=exhaustive)
    measured = [config for what, config in device.calls if what == "measure"]
    assert len(measured) == len(set(measured)) == 20
    assert "no more configs" in search.stopped


@pytest.mark.parametrize("space", [SPACE, LARGE])
@pytest.mark.parametrize("trials", [1, 2, 3, 7])
def test_a_limit_of_trials_holds_exactly(space: Space, trials: int) -> None:
    device = FakeDevice()
    search = searched(device, space, trials=trials)
    assert len([one for one in search.tried if one.launched]) == trials
    assert sum(what == "measure" for what, _ in device.calls) == trials
    assert search.stopped == f"the limit of {trials} configs"


@pytest.mark.parametrize("space", [SPACE, LARGE])
def test_the_same_results_give_the_same_search_whatever_takes_how_long(space: Space) -> None:
    def slow(seed: int) -> Callable[[Config], float]:
        return lambda config: random.Random(f"{seed}{config}").random() * 0.01

    first = searched(FakeDevice(delay_s=slow(1)), space)
    second = searched(FakeDevice(delay_s=slow(2)), space)
    assert told(first) == told(second)
    assert told(searched(FakeDevice(), space, seed=1)) != told(first)


def test_a_small_space_is_compiled_whole_before_anything_is_launched() -> None:
    device = FakeDevice()
    searched(device, trials=5)
    order = [what for what, _ in device.calls]
    assert order[:20] == ["compile"] * 20
    assert set(order[20:]) == {"measure"}


def test_a_large_space_is_compiled_as_it_is_asked_for_and_one_generation_ahead() -> None:
    device = FakeDevice()
    searched(device, LARGE, trials=9)
    assert sum(what == "compile" for what, _ in device.calls) == 9
    first_measured = [what for what, _ in device.calls].index("measure")
    assert first_measured >= 3, "the first generation compiles before any of it is launched"


def test_what_the_compiler_refuses_is_never_launched_and_costs_no_trial_of_a_small_space() -> None:
    device = FakeDevice(fails=lambda config: (Status.COMPILE_ERROR, "no") if config["BLOCK"] == 512 else None)
    search = searched(device, trials=8)
    assert not [config for what, config in device.calls if what == "measure" and config.startswith("512/")]
    refused = [one for one in search.tried if not one.launched]
    assert {one.config["BLOCK"] for one in refused} == {512}
    assert len(refused) == 4
    assert len(search.tried) == 8 + 4


def test_what_the_compiler_refuses_costs_no_trial_of_a_large_space_either() -> None:
    device = FakeDevice(fails=lambda config: (Status.COMPILE_ERROR, "no") if config["GROUP"] % 2 else None)
    search = searched(device, LARGE, trials=9, seed=1)
    launched = [one for one in search.tried if one.launched]
    assert len(launched) == 9
    assert len(search.tried) > 9
    assert not any(one.config["GROUP"] % 2 for one in launched)
    assert search.stopped == "the limit of 9 configs"


def test_a_large_space_of_which_the_compiler_refuses_all_ends() -> None:
    search = searched(FakeDevice(fails=lambda config: (Status.COMPILE_ERROR, "no")), LARGE, trials=5)
    assert not any(one.launched for one in search.tried)
    assert 20 <= len(search.tried) <= 20 + 2 * 3
    assert search.stopped.startswith("the compiler, which refused")


def test_what_a_sampler_may_ask_for_next_is_compiled_and_not_launched() -> None:
    class Foresees(Draws):
        def foresee(self, count: int) -> list[Config]:
            return [{"BLOCK": 32, "k.num_warps": 1, "GROUP": 1 + number} for number in range(count)]

    def with_cores(cores: int) -> tuple[FakeDevice, Search]:
        device, settings = FakeDevice(), Settings(trials=12, in_flight=3)
        drawn = random_draws(LARGE, 0, (default(LARGE),))
        sampler = Foresees(drawn.asked, drawn.draw)
        search = Search(device, LARGE, sampler, (), settings, lambda tried: None, cores=cores)
        search.run()
        return device, search

    idle, foreseen = with_cores(64)
    busy, plain = with_cores(2)
    assert told(foreseen) == told(plain)
    compiled = sum(what == "compile" for what, _ in idle.calls)
    assert compiled > sum(what == "compile" for what, _ in busy.calls) == len(plain.tried)
    assert sum(what == "measure" for what, _ in idle.calls) == len(foreseen.tried)


def test_every_failure_is_kept_with_its_reason_and_told_as_one() -> None:
    def fails(config: Config) -> tuple[Status, str] | None:
        return (Status.TIMEOUT, "endless") if config["k.num_warps"] == 1 else None

    search = searched(FakeDevice(fails=fails), trials=None, factory=exhaustive)
    failed = [one for one in search.tried if one.score_us is None]
    assert len(failed) == 5
    assert {(one.found.status, one.found.reason) for one in failed} == {(Status.TIMEOUT, "endless")}


def test_a_space_in_which_everything_fails_ends() -> None:
    search = searched(FakeDevice(fails=lambda config: (Status.CRASHED, "died")), trials=None, factory=exhaustive)
    assert len(search.tried) == 20
    assert all(one.score_us is None for one in search.tried)


@pytest.mark.parametrize("time_us", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_a_failure_and_not_the_best(time_us: float) -> None:
    device = FakeDevice(time_of=lambda config, case: time_us if config["BLOCK"] == 512 else 50.0)
    search = searched(device, trials=None, factory=exhaustive)
    assert {one.found.status for one in search.tried if one.config["BLOCK"] == 512} == {Status.RUNTIME_ERROR}


def test_the_source_as_written_takes_part_even_where_a_restriction_excludes_it() -> None:
    space = Space(parameters=SPACE.parameters, restrictions=("BLOCK >= 256",))
    search = searched(FakeDevice(), space, trials=4)
    assert search.tried[0].config == DEFAULT
    assert search.tried[0].origin == "default"
    assert all(one.config in list(configs(space)) for one in search.tried[1:])


def test_a_limit_of_minutes_ends_the_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the device moves."""
    now_s = [0.0]

    def tick(config: Config) -> float:
        now_s[0] += 1.0
        return 0.0

    monkeypatch.setattr(sys.modules[Search.__module__], "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    search = searched(FakeDevice(delay_s=tick), LARGE, trials=None, minutes=0.1)
    assert search.stopped == "the limit of 0.1 minutes"
    assert 1 <= len(search.tried) < 60


def test_tried_configs_can_be_read_while_the_search_is_under_way() -> None:
    seen: list[Tried] = []
    sampler = random_draws(SPACE, 0, first=(DEFAULT,))
    Search(FakeDevice(), SPACE, sampler, (), Settings(trials=5), seen.append).run()
    assert [one.number for one in seen] == list(range(5))


def test_a_score_is_the_geometric_mean_of_a_config_that_passed() -> None:
    found = passed(DEFAULT, ("big", "wide"), lambda config, case: 10.0 if case == "big" else 40.0)
    assert found.score_us == pytest.approx(20.0)
    times = (CaseTime(case="big", median_us=10.0),)
    assert Found(status=Status.WRONG, times=times).score_us is None


@pytest.mark.parametrize(("default_too", "status"), [(True, Status.PASSED), (False, Status.NOT_VERIFIED)])
def test_what_could_not_be_judged_counts_only_where_the_default_could_not_be_either(
    default_too: bool, status: Status
) -> None:
    class Unjudged(FakeDevice):
        def measure(self, config: Config) -> Found:
            found = super().measure(config)
            unjudged = config["BLOCK"] == 512 or (default_too and config == DEFAULT)
            return msgspec.structs.replace(found, not_verified=unjudged)

    search = searched(Unjudged(kind="estimate"), trials=None, factory=exhaustive)
    assert {one.found.status for one in search.tried if one.config["BLOCK"] == 512} == {status}
    assert search.tried[0].found.status is Status.PASSED


class Listens(Draws):
    """Keeps what it was told of before it was first asked."""

    def __init__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> None:
        drawn = random_draws(space, seed, first)
        super().__init__(drawn.asked, drawn.draw)
        self.informed: dict[tuple[int, ...], tuple[int, float]] = {}
        self.before_asking: int | None = None

    def ask(self) -> Config | None:
        self.before_asking = len(self.informed) if self.before_asking is None else self.before_asking
        return super().ask()

    def inform(self, config: Config, spill_bytes: int, occupancy: float) -> None:
        self.informed[tuple(config.values())] = (spill_bytes, occupancy)


def informed(device: FakeDevice, space: Space = SPACE) -> Listens:
    sampler = Listens(space, 0)
    Search(device, space, sampler, (), Settings(trials=12, in_flight=3), lambda tried: None).run()
    return sampler


def test_what_a_space_compiled_whole_takes_is_told_before_anything_is_asked() -> None:
    sampler = informed(FakeDevice(fails=lambda config: (Status.COMPILE_ERROR, "no") if config["BLOCK"] == 32 else None))
    assert sampler.before_asking == len(sampler.informed) == 16
    assert sampler.informed[512, 8] == (1024, 0.25)
    assert sampler.informed[64, 1] == (0, 1.0)


def test_nothing_is_told_of_estimates_whose_kernels_are_those_of_small_cases_too() -> None:
    assert informed(FakeDevice(kind="estimate")).informed == {}


def test_a_space_that_is_compiled_as_it_is_asked_for_goes_without() -> None:
    assert informed(FakeDevice(), LARGE).informed == {}
