"""The built-in proposer: it varies the tunables of an existing kernel, without a model.

It never writes code, so its best kernel is the starter with other numbers. The configs come from a sampler of `spaces`,
as in `tune`. A proposal depends only on the seed and the trials. No config is proposed twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Proposal, Request, Status, Trial
from kernelwright.propose.protocol import Context, NothingLeft, Proposer
from kernelwright.spaces import build_sampler
from kernelwright.spaces.space import Config, Space, key, size
from kernelwright.spaces.stated import found_space

AUTHOR = "builtin"

OPENING = 4
"""The first tunings of a kernel, while at most four of its configs are known, come from local search. A kernel of a
proposer that writes code rarely gets more, and the surrogate model spends its first configs far apart
(docs/searching.md has the figures)."""


class Builtin(Proposer):
    """Stateless, hence thread-safe."""

    author = AUTHOR
    shows_profiles = False

    def __init__(self, sampler: str = "model", opening: str | None = None) -> None:
        """sampler: a name in `SAMPLERS`. opening: the sampler for the first tunings of a source; None: the same.

        Raises `ConfigError` for an unknown sampler, and for one that is not installed.
        """
        build_sampler(sampler, Space(parameters=()), 0)
        self._sampler, self._opening = sampler, opening or sampler

    def answers_at_once(self, request: Request) -> bool:
        return True

    def propose(self, request: Request, context: Context) -> Proposal:
        parents = parent_trials(request, context.trials)
        if not parents:
            missing = "this run has none yet" if not request.parents else f"trials {request.parents} are not known"
            return self._error(f"the built-in proposer varies the numbers of an earlier kernel, and {missing}")
        if parents[0].proposal.candidate is None:
            return self._error(f"trial {parents[0].number}, the parent, has no candidate to vary")
        faults: list[str] = []
        for parent in (parents[0], *others(parents[0], context.trials)):
            try:
                return self._varied(parent, request, context)
            except NothingLeft as fault:
                faults.append(str(fault))
        raise NothingLeft("; ".join(dict.fromkeys(faults)))

    def _varied(self, parent: Trial, request: Request, context: Context) -> Proposal:
        """A proposal with the source of `parent`. Raises `NothingLeft` where all of its configs were tried."""
        candidate = parent.proposal.candidate
        assert candidate is not None
        of_source = [t.evaluation for t in context.trials if t.proposal.candidate and t.evaluation
                     and t.proposal.candidate.source == candidate.source]  # fmt: skip
        launched = {one.kernel for evaluation in of_source for one in evaluation.kernels}
        try:
            space = found_space(candidate.source, parent.evaluation.autotune if parent.evaluation else {}, launched)
        except ConfigError:
            raise NothingLeft(f"the source of trial {parent.number} has no tunables to vary") from None
        tried, under_way = configs_of(candidate.source, space, context.trials, context.in_flight)
        sampler = self._opening if len(tried) + len(under_way) <= OPENING else self._sampler
        config = next_config(sampler, space, f"{context.seed}:{request.number}", tried, under_way)
        if config is None:
            raise NothingLeft(f"every config of the source of trial {parent.number} was tried ({size(space)})")
        of_another = "" if parent.number in request.parents or not request.parents else f"trial {parent.number}: "
        return Proposal(
            author=AUTHOR,
            candidate=Candidate(source=candidate.source, config=config),
            note=of_another + difference(complete(space, candidate.config), config),
        )

    def _error(self, reason: str) -> Proposal:
        return Proposal(author=AUTHOR, error=reason)


def tune(request: Request, context: Context) -> Proposal:
    """The proposal for a request to tune, from a proposer that writes code."""
    try:
        return Builtin(opening="local").propose(request, context)
    except NothingLeft as reason:
        return Proposal(author=AUTHOR, error=str(reason))


def others(parent: Trial, trials: Iterable[Trial]) -> list[Trial]:
    """The best trial of each other source that passed, the fastest source first."""
    assert parent.proposal.candidate is not None
    found, seen = [], {parent.proposal.candidate.source}
    passed = [one for one in trials if one.score_us is not None and one.proposal.candidate is not None]
    for trial in sorted(passed, key=lambda one: (one.score_us, one.number)):
        assert trial.proposal.candidate is not None
        if trial.proposal.candidate.source not in seen:
            seen.add(trial.proposal.candidate.source)
            found.append(trial)
    return found


def parent_trials(request: Request, trials: tuple[Trial, ...]) -> list[Trial]:
    """The parents that are finished; for a request without parents, the first candidate of the run."""
    by_number = {trial.number: trial for trial in trials}
    if request.parents:
        return [by_number[number] for number in request.parents if number in by_number]
    return [trial for trial in trials if trial.proposal.candidate is not None][:1]


def complete(space: Space, config: Config) -> Config:
    """`config` with a value for every parameter; missing ones get their default."""
    return {one.name: config.get(one.name, one.default) for one in space.parameters}


def configs_of(
    source: str, space: Space, trials: Iterable[Trial], in_flight: Iterable[Candidate]
) -> tuple[list[tuple[Config, float | None]], list[Config]]:
    """The configs of `source` with their times in µs (None: failed), and the configs without an outcome: in flight, or
    passed without a time."""
    tried: list[tuple[Config, float | None]] = []
    open_: list[Config] = []
    for trial in trials:
        candidate, evaluation = trial.proposal.candidate, trial.evaluation
        if candidate is None or candidate.source != source:
            continue
        config = complete(space, candidate.config)
        is_known = evaluation is not None and evaluation.status not in (Status.PASSED, Status.NOT_VERIFIED)
        if trial.score_us is not None or is_known:
            tried.append((config, trial.score_us))
        else:
            open_.append(config)
    open_ += [complete(space, one.config) for one in in_flight if one.source == source]
    return tried, open_


def next_config(
    sampler: str, space: Space, seed: str, tried: list[tuple[Config, float | None]], under_way: list[Config]
) -> Config | None:
    """The sampler's next config after it was given all times in `tried`; never one of `tried` or `under_way`. None: the
    sampler has no further config."""
    known = [*(config for config, _ in tried), *under_way]
    times = {key(space, config): time_us for config, time_us in tried}
    asking = build_sampler(sampler, space, random.Random(seed).getrandbits(32), tuple(known))
    keys = {key(space, config) for config in known}
    while (config := asking.ask()) is not None and (at := key(space, config)) in keys:
        if at in times:
            asking.tell(config, times[at])
    return config


def difference(old: Config, new: Config) -> str:
    """The changed values, for people: "k.BLOCK 64 → 128"."""
    changes = [f"{name} {old[name]} → {value}" for name, value in new.items() if old[name] != value]
    return ", ".join(changes) or "the config as it is"
