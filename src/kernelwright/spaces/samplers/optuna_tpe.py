"""Optuna's tree-structured Parzen estimator (TPE) as a sampler, for comparison and for users of Optuna.

It needs the extra `tune`; Optuna is imported when the sampler is created. If Optuna proposes a known config, or one
that a restriction excludes, Optuna gets its answer immediately and nothing is measured. After several such proposals in
a row a random config is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.errors import ConfigError
from kernelwright.spaces.samplers.bookkeeping import Known, RandomConfigs
from kernelwright.spaces.space import Config, Space, is_valid, key

if TYPE_CHECKING:
    import optuna

USELESS_PROPOSALS = 10
"""After this number of consecutive unusable proposals a random config is used: near the end of a search nearly all
proposals are repetitions."""


class OptunaTpe:
    """Raises `ConfigError` if Optuna is not installed."""

    def __init__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> None:
        try:
            import optuna
        except ModuleNotFoundError as error:
            raise ConfigError("the sampler optuna needs Optuna", "pip install 'kernelwright[tune]'") from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space = space
        self.asked = Known(space, first)
        self.draws = RandomConfigs(self.asked, f"optuna:{seed}")
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        self.distributions: dict[str, optuna.distributions.BaseDistribution] = {
            parameter.name: optuna.distributions.IntDistribution(0, len(parameter.choices) - 1)
            for parameter in space.parameters
        }
        self.under_way: dict[tuple[int, ...], optuna.trial.Trial] = {}
        self.times_us: dict[tuple[int, ...], float | None] = {}

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is not None:
            return config
        for _ in range(USELESS_PROPOSALS):
            trial = self.study.ask(self.distributions)
            config = {one.name: one.choices[trial.params[one.name]] for one in self.space.parameters}
            if is_valid(self.space, config) and not self.asked.knows(config):
                self.under_way[key(self.space, config)] = trial
                return self.asked.give(config)
            self._finish(trial, self.times_us.get(key(self.space, config)))
        config = self.draws.draw()
        return None if config is None else self.asked.give(config)

    def tell(self, config: Config, time_us: float | None) -> None:
        import optuna

        if not self.asked.learn(config):
            return
        self.times_us[key(self.space, config)] = time_us
        trial = self.under_way.pop(key(self.space, config), None)
        if trial is not None:
            self._finish(trial, time_us)
            return
        fixed = {one.name: one.choices.index(config[one.name]) for one in self.space.parameters}
        state = optuna.trial.TrialState.FAIL if time_us is None else optuna.trial.TrialState.COMPLETE
        self.study.add_trial(
            optuna.trial.create_trial(state=state, params=fixed, distributions=self.distributions, value=time_us)
        )

    def _finish(self, trial: optuna.trial.Trial, time_us: float | None) -> None:
        import optuna

        if time_us is None:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(trial, time_us)
