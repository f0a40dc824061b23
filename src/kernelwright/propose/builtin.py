"""The built-in proposer: without a model, it varies the tunables of a kernel that exists.

It never writes code, so its best kernel is the starter with other numbers. The one rule: a proposal depends only on
the seed, the request and the trials, and never repeats a config that was tried or is under way.
"""

from __future__ import annotations

import random

import msgspec

from kernelwright.model import Candidate, Operator, Proposal, Request, Trial
from kernelwright.propose.forecast import Forecast, forecast
from kernelwright.propose.protocol import Context
from kernelwright.propose.space import Point, Space, space_of, taken, untried

AUTHOR = "builtin"

RESTART_SHARE = 0.1
"""How often an improvement leaves the parent's neighbourhood, and with it a local best."""
RESTART_DRAWS = 16
"""Of so many random configs the one of the best forecast is the restart."""
TRUST_SHARE = 0.9
"""How often the move of the best forecast is taken, rather than any of the better half."""
MOST_MOVES = 200
"""So many moves are compared, drawn at random where there are more."""


class Builtin:
    """Stateless, hence thread-safe."""

    author = AUTHOR
    shows_profiles = False

    def propose(self, request: Request, context: Context) -> Proposal:
        parents = parent_trials(request, context.trials)
        if not parents:
            missing = "this run has none yet" if not request.parents else f"trials {request.parents} are not known"
            return self._error(f"the built-in proposer varies the numbers of an earlier kernel, and {missing}")
        candidate = parents[0].proposal.candidate
        if candidate is None:
            return self._error(f"trial {parents[0].number}, the parent, has no candidate to vary")
        space = space_of(parents[0], candidate.source)
        if not space.tunables:
            return self._error(f"the source of trial {parents[0].number} has no tunables to vary")
        used = taken(space, context.trials, context.in_flight)
        chance = random.Random(f"{context.seed}:{request.number}")
        here = space.point(candidate.config)
        point = choose(request.operator, space, here, parents, used, context, chance)
        if point is None:
            return self._error(f"every config of this source was tried ({space.size})")
        return Proposal(
            author=AUTHOR,
            candidate=Candidate(source=space.source, config=space.config(point)),
            note=difference(space, here, point),
        )

    def close(self) -> None:
        """Nothing to let go of."""

    def _error(self, reason: str) -> Proposal:
        return Proposal(author=AUTHOR, error=reason)


def tuned(request: Request, context: Context) -> Proposal:
    """The answer to a request to tune, for proposers that write code: the config that the forecast expects most of,
    where `Builtin` itself draws any, as the control arm wants it."""
    return Builtin().propose(msgspec.structs.replace(request, operator=Operator.IMPROVE), context)


def parent_trials(request: Request, trials: tuple[Trial, ...]) -> list[Trial]:
    """The parents that are known; for a request without any, the first candidate of the run."""
    by_number = {trial.number: trial for trial in trials}
    if request.parents:
        return [by_number[number] for number in request.parents if number in by_number]
    return [trial for trial in trials if trial.proposal.candidate is not None][:1]


def choose(
    operator: Operator,
    space: Space,
    here: Point,
    parents: list[Trial],
    used: set[Point],
    context: Context,
    chance: random.Random,
) -> Point | None:
    """The next point to try, None when none is left."""
    start = chance.randrange(space.size)
    anywhere = next(untried(space, used, start), None)
    if anywhere is None or operator in (Operator.TUNE, Operator.SEED):
        return anywhere
    expected = forecast(space, context.trials)
    if operator in (Operator.REPAIR, Operator.REWRITE_SIMPLY):
        return towards_default(space, here, used, expected) or anywhere
    if operator is Operator.MERGE:
        candidates = [parent.proposal.candidate for parent in parents[1:]]
        other = [space.point(one.config) for one in candidates if one is not None and one.source == space.source]
        crossed = [point for point in crossings(here, other, chance) if point not in used]
        if crossed:
            return crossed[0]
    if chance.random() < RESTART_SHARE:
        drawn = [space.numbered(chance.randrange(space.size)) for _ in range(RESTART_DRAWS)]
        return min((point for point in drawn if point not in used), key=expected.of, default=anywhere)
    moves = [point for point in (*space.neighbours(here), *space.second_neighbours(here)) if point not in used]
    if not moves:
        return anywhere
    chance.shuffle(moves)
    ranked = sorted(moves[:MOST_MOVES], key=expected.of)
    return ranked[0] if chance.random() < TRUST_SHARE else chance.choice(ranked[: (len(ranked) + 1) // 2])


def crossings(here: Point, others: list[Point], chance: random.Random) -> list[Point]:
    """Children that take each value from one of the parents, none of them a parent."""
    if not others:
        return []
    every = [here, *others]
    children = [tuple(chance.choice(values) for values in zip(*every, strict=True)) for _ in range(16)]
    return [child for child in children if child not in every]


def towards_default(space: Space, here: Point, used: set[Point], expected: Forecast) -> Point | None:
    """A point that asks less of the GPU than a config that failed: the defaults themselves, else one or two steps
    towards them or down, the best forecast first."""
    default = space.point({})
    if default not in used:
        return default
    steps = [
        point
        for point in (*space.neighbours(here), *space.second_neighbours(here))
        if point not in used
        and all(
            new == old or new < old or abs(new - aim) < abs(old - aim)
            for new, old, aim in zip(point, here, default, strict=True)
        )
    ]
    return min(steps, key=lambda point: (expected.of(point), point), default=None)


def difference(space: Space, old: Point, new: Point) -> str:
    """What changed, for people: "k.BLOCK 64 → 128"."""
    changes = [
        f"{tunable.key} {before} → {after}"
        for tunable, before, after in zip(space.tunables, old, new, strict=True)
        if before != after
    ]
    return ", ".join(changes) or "the config as it is"
