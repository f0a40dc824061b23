"""Confirmation of the best trial: fresh process, fresh seeds, held-out cases.

Only a confirmed candidate is reported as the best, with the time of its confirmation. The user's own starter needs no
confirmation: all others are compared with it, and it wins a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kernelwright.errors import WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import KNOWN, Candidate, CaseResult, Evaluation, Status, Trial
from kernelwright.search.convergence import seed_trial
from kernelwright.search.ranking import beats, forced_slowdowns, ranked
from kernelwright.stats import geometric_mean


@dataclass(frozen=True)
class Confirmed:
    """The result of the confirmations. best: the confirmed trial, best_us its score; None where no trial was confirmed.
    refused: the better trials whose confirmation failed."""

    best: int | None = None
    best_us: float | None = None
    refused: tuple[int, ...] = ()


def confirmed_best(
    trials: Sequence[Trial], confirmations: Mapping[int, Evaluation], confirm: Callable[[int, Candidate], Evaluation]
) -> Confirmed:
    """Confirm the best trial that can be confirmed; the best in the search is tried first.

    A trial that beat the seed in the search must beat it again in its confirmation. Where the seed was timed under a
    forced slowdown of the clock, no trial is confirmed to beat it. confirmations: those of earlier sessions, which are
    reused.
    """
    seed = seed_trial(trials)
    refused: dict[int, Candidate] = {}
    ahead_of_seed = True
    for trial in ranked(trials):
        candidate, searched = trial.proposal.candidate, trial.evaluation
        if seed is None or seed.evaluation is None or candidate is None or searched is None:
            continue
        if trial is seed:
            if trial.request.candidate is not None and trial.proposal.author != KNOWN:
                return Confirmed(trial.number, trial.score_us, tuple(refused))
            ahead_of_seed = False
        elif ahead_of_seed and not beats(searched, seed.evaluation):
            continue
        if candidate in refused.values():
            continue
        evaluation = confirmations.get(trial.number) or confirm(trial.number, candidate)
        passed = evaluation.status is Status.PASSED and evaluation.score_us is not None
        gained = beats(evaluation, seed.evaluation) and not forced_slowdowns(seed.evaluation)
        if passed and (not ahead_of_seed or gained):
            return Confirmed(trial.number, evaluation.score_us, tuple(refused))
        refused[trial.number] = candidate
    return Confirmed(refused=tuple(refused))


class _NotMadeError(Exception):
    """A confirmation that the answer depends on has not been made yet."""


def known_best(trials: Sequence[Trial], confirmations: Mapping[int, Evaluation]) -> Confirmed | None:
    """The best trial by the confirmations that were made; None where it depends on another one."""

    def not_made(number: int, candidate: Candidate) -> Evaluation:
        raise _NotMadeError

    try:
        return confirmed_best(trials, confirmations, not_made)
    except _NotMadeError:
        return None


def confirmation(worker: Worker, candidate: Candidate, seed: Trial | None) -> Evaluation:
    """A confirmation on the scale of the seed's times. Where it ran on another GPU than the search, the seed is timed
    again on that GPU. Raises `WorkerError` where that GPU was lost in between."""
    evaluation = worker.evaluate(candidate, "confirm")
    if seed is None or seed.evaluation is None or seed.proposal.candidate is None or evaluation.score_us is None:
        return evaluation
    if evaluation.gpu == seed.evaluation.gpu:
        return evaluation
    here = worker.evaluate(seed.proposal.candidate, "confirm")
    if here.gpu != evaluation.gpu:
        raise WorkerError("a GPU was lost between the two halves of a confirmation", "resume the run")
    if here.score_us is None:
        reason = f"the seed does not pass on this GPU, so times cannot be compared: {here.reason}"
        return Evaluation(status=Status.NOT_VERIFIED, reason=reason, gpu=evaluation.gpu)
    return as_timed_with(seed.evaluation, here, evaluation)


def as_timed_with(seed: Evaluation, here: Evaluation, evaluation: Evaluation) -> Evaluation:
    """Scale a confirmation to the GPU of the search: its ratios to the seed, both timed on the confirmation's GPU,
    times the seed's times in the search. here: the seed's evaluation on the confirmation's GPU."""
    before_us, here_us = seed.times_us, here.times_us
    factors = {case: before_us[case] / here_us[case] for case in before_us.keys() & here_us.keys()}
    mean = geometric_mean([*factors.values()])

    def scaled(result: CaseResult) -> CaseResult:
        timing, by = result.timing, factors.get(result.case, mean)
        if timing is None:
            return result
        interval = timing.ci95_us and (timing.ci95_us[0] * by, timing.ci95_us[1] * by)
        samples = tuple(by * sample_us for sample_us in timing.samples_us)
        timing = msgspec.structs.replace(
            timing, median_us=timing.median_us * by, ci95_us=interval, samples_us=samples, scale=timing.scale * by
        )
        return msgspec.structs.replace(result, timing=timing)

    results = tuple(scaled(result) for result in evaluation.results)
    score_us = None if evaluation.score_us is None else evaluation.score_us * mean
    return msgspec.structs.replace(evaluation, results=results, score_us=score_us)
