"""The function `tune`: search, finals, confirmation, and the choice of a config for all cases and for each case.

A config is chosen only after its confirmation on every case, if the device can confirm; this includes the default.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from kernelwright import __version__, stats
from kernelwright.model import ProblemInfo, Status
from kernelwright.spaces.protocol import SamplerFactory
from kernelwright.spaces.space import Config, Space, default, is_valid
from kernelwright.tune.device import Device
from kernelwright.tune.finals import finalists, pick, reference_of, run_finals
from kernelwright.tune.records import Advice, Choice, FinalCase, Finalist, Found, Outcome, Settings, Tried
from kernelwright.tune.search import Search

MOST_FINALS = 3
"""Largest number of finals; each is among the configs whose confirmation has not failed."""


def tune(
    device: Device,
    space: Space,
    *,
    problem: ProblemInfo | str,
    candidate: str,
    settings: Settings,
    sampler: SamplerFactory,
    advice: Advice | None = None,
    imported: Sequence[Config] = (),
    on_tried: Callable[[Tried], None] = lambda tried: None,
    on_stage: Callable[[str], None] = lambda what: None,
    unqualified: str = "",
) -> Outcome:
    """Tune a candidate. problem: only its name if a record is replayed. sampler: the one that `settings` names. advice
    and imported: configs to try first; those outside the space are left out. on_tried and on_stage: progress callbacks,
    called from this thread.

    Raises `ConfigError` for a space without configs.
    """
    began_s = time.monotonic()
    advised = [] if advice is None else [config for config in advice.configs if is_valid(space, config)]
    read = [config for config in imported if is_valid(space, config)]
    asked = sampler(space, settings.seed, first=(default(space), *advised, *read))
    search = Search(device, space, asked, read, settings, on_tried, advised)
    search.run()
    info = None if isinstance(problem, str) else problem
    outcome = Outcome(
        kernelwright=__version__,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        kind=device.kind,
        device=device.name,
        environment=device.environment,
        least_us=device.least_us,
        problem=problem if isinstance(problem, str) else problem.name,
        candidate=candidate,
        cases=() if info is None else tuple(one for one in info.cases if one.case.timed),
        space=space,
        settings=settings,
        advice=advice,
        tried=tuple(search.tried),
        reference=None,
        stopped=search.stopped,
        seconds=0.0,
        unqualified=unqualified,
        library=device.library,
    )
    return conclude(outcome, device, on_stage, began_s)


def conclude(outcome: Outcome, device: Device, on_stage: Callable[[str], None], began_s: float) -> Outcome:
    """The outcome with finals and choices, if a config passed.

    If all finalists but the reference fail their confirmation (such as large blocks that are wrong on odd shapes),
    finals are run again with the next best.
    """
    reference = reference_of(outcome.tried)
    if reference is None:
        return replace(outcome, seconds=round(time.monotonic() - began_s, 3))
    cases = outcome.case_names
    confirmations = Confirmations(device, outcome.tried, on_stage)
    for _ in range(MOST_FINALS):
        refused_before = len(confirmations.refused)
        left = [one for one in outcome.tried if one.number not in confirmations.refused]
        chosen = finalists(left, cases, reference)
        on_stage(f"finals of {len(chosen)} configs on {len(cases)} case{'s' * (len(cases) > 1)}")
        found = run_finals(device, chosen, cases)
        joint = choose(found, outcome, reference, None, confirmations)
        per_case = [choose(found, outcome, reference, case, confirmations) for case in cases] if len(cases) > 1 else []
        rivals = {one.number for one in chosen if one is not reference}
        all_refused = len(confirmations.refused) > refused_before and rivals <= confirmations.refused.keys()
        if not all_refused or reference.number in confirmations.refused:
            break
    own = tuple(choice for choice in per_case if choice is not None)
    return replace(
        outcome,
        tried=confirmations.applied(),
        reference=reference.number,
        finals=tuple(found),
        joint=joint,
        per_case=own,
        cost_of_one=cost_of_one(joint, own, found),
        refused=confirmations.refused,
        seconds=round(time.monotonic() - began_s, 3),
    )


class Confirmations:
    """Confirmations of chosen configs, each done once. The default is confirmed, too, because a search on a GPU tests
    only the timed cases. refused: by number, the reason of a failed confirmation."""

    def __init__(self, device: Device, tried: Sequence[Tried], on_stage: Callable[[str], None]) -> None:
        self.refused: dict[int, str] = {}
        self._failed: dict[int, Found] = {}
        self._device, self._tried, self._on_stage = device, {one.number: one for one in tried}, on_stage
        self._known: dict[int, bool | None] = {}

    def of(self, number: int) -> bool | None:
        """Whether a config is confirmed; None if the device cannot confirm."""
        tried = self._tried[number]
        if number not in self._known:
            if self._device.kind != "replayed":  # a record cannot confirm
                self._on_stage(f"verifying {tried.name} again")
            found = self._device.confirm(tried.config)
            self._known[number] = None if found is None else found.status is Status.PASSED
            if found is not None and found.status is not Status.PASSED:
                self.refused[number] = f"{found.status.value}: {found.reason}"
                self._failed[number] = found
        return self._known[number]

    def applied(self) -> tuple[Tried, ...]:
        """The tried configs; those with a failed confirmation have that failure as their result."""
        return tuple(replace(one, found=self._failed.get(one.number, one.found)) for one in self._tried.values())


def choose(
    found: Sequence[Finalist], outcome: Outcome, reference: Tried, case: str | None, confirmations: Confirmations
) -> Choice | None:
    """The best config whose confirmation did not fail; None if there is none."""
    default = reference.number if reference.origin == "default" else None
    left = [one for one in found if one.number not in confirmations.refused]
    while (picked := pick(left, outcome.tried, case, default)) is not None:
        finalist, ratio, why = picked
        confirmed = confirmations.of(finalist.number)
        if confirmed is False:
            left = [one for one in left if one.number != finalist.number]
            continue
        if finalist.number == default and confirmations.refused:
            why = "no config that passed again is faster than the default"
        tried = next(one for one in outcome.tried if one.number == finalist.number)
        ours = times_of(finalist, case)
        base = [one for one in found if one.number == default]
        return Choice(
            case=case,
            number=finalist.number,
            config=tried.config,
            time_us=stats.geometric_mean([one.median_us for one in ours if one.median_us is not None]),
            ci95_us=ours[0].ci95_us if len(ours) == 1 else None,
            default_us=mean_us(base[0], case) if base else None,
            ratio=ratio,
            why=why,
            confirmed=confirmed,
        )
    return None


def times_of(finalist: Finalist, case: str | None) -> list[FinalCase]:
    return [one for one in finalist.cases if case in (None, one.case)]


def mean_us(finalist: Finalist, case: str | None) -> float | None:
    times_us = [one.median_us for one in times_of(finalist, case)]
    known = [time_us for time_us in times_us if time_us is not None]
    return stats.geometric_mean(known) if known and len(known) == len(times_us) else None


def cost_of_one(joint: Choice | None, own: Sequence[Choice], found: Sequence[Finalist]) -> float | None:
    """Time of the joint choice over that of each case's choice, geometric mean, from ratios to the same reference."""
    if joint is None or not own:
        return None
    finalist = next(one for one in found if one.number == joint.number)
    shared = {one.case: one.ratio.speedup for one in finalist.cases if one.ratio is not None}
    ratios = [choice.ratio.speedup / shared[choice.case] for choice in own if choice.case in shared]
    return stats.geometric_mean(ratios) if ratios else None
