"""The sampler may end a search early, and only where it was not forbidden to."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kernelwright.spaces import SAMPLERS
from kernelwright.spaces.space import Config, configs
from kernelwright.tune.records import Settings
from kernelwright.tune.search import Search
from tuned import DEFAULT, SPACE, FakeDevice


@dataclass
class Hopeless:
    """Asks for one config after the other and from the fourth on expects nothing."""

    left: list[Config] = field(default_factory=lambda: list(configs(SPACE)))
    expected_gain: float | None = None
    asks: int = 0

    def ask(self) -> Config | None:
        self.asks += 1
        self.expected_gain = 0.1 if self.asks < 4 else 0.0001
        return self.left.pop() if self.left else None

    def tell(self, config: Config, time_us: float | None) -> None: ...


def searched(early_stop: bool) -> Search:
    settings = Settings(in_flight=3, early_stop=early_stop)
    search = Search(FakeDevice(), SPACE, Hopeless(), (), settings, lambda tried: None)
    search.run()
    return search


def test_a_sampler_that_long_expects_nothing_ends_the_search() -> None:
    search = searched(early_stop=True)
    assert "expects less than 0.03 %" in search.stopped
    assert 12 <= len(search.tried) < 20


def test_it_goes_on_where_stopping_early_is_forbidden() -> None:
    assert len(searched(early_stop=False).tried) == 20


@pytest.mark.parametrize("name", ["model", "local", "random"])
def test_every_sampler_finds_the_best_of_a_small_space(name: str) -> None:
    settings = Settings(sampler=name, trials=20, early_stop=False)
    sampler = SAMPLERS[name](SPACE, 0, first=(DEFAULT,))
    search = Search(FakeDevice(), SPACE, sampler, (), settings, lambda tried: None)
    search.run()
    assert min(one.score_us or 0.0 for one in search.tried) == pytest.approx(100.0)
