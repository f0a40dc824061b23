"""Profiles for prompts: which trials are profiled before a prompt is written, and on which case.

A trial is profiled once in a run, and only for a proposer whose prompts show profiles.
"""

from __future__ import annotations

from kernelwright.diagnosis import furthest
from kernelwright.errors import MachineError, RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.journal import Profiles, RunState
from kernelwright.model import Candidate, Operator, ProblemInfo, Request
from kernelwright.propose.protocol import Proposer
from kernelwright.propose.reflection import parent_of, surprising


def lacking(request: Request, state: RunState, proposer: Proposer, problem: ProblemInfo) -> dict[int, str]:
    """The trials that still have to be profiled for a request, each with its case.

    These are the request's parents, on the case that is furthest from its bound, and the surprises that a prompt asks
    about, on the case on which their parent was profiled. A trial without a time is left out.
    """
    if not proposer.shows_profiles or request.operator is Operator.TUNE:
        return {}
    found = {}
    for number in request.parents:
        case = case_of(number, state, problem)
        if case is not None and number not in state.profiles:
            found[number] = case
    by_number = {trial.number: trial for trial in state.trials()}
    for trial in surprising(state.trials()):
        before = parent_of(trial, by_number)
        beside = state.profiles.get(before.number) if before is not None else None
        if beside is not None and beside.profiles and trial.number not in state.profiles:
            found[trial.number] = beside.profiles[0].case
    return found


def case_of(number: int, state: RunState, problem: ProblemInfo) -> str | None:
    """The timed case on which a trial is furthest from its bound; None where it was not timed."""
    evaluation = state.evaluations.get(number)
    return furthest(evaluation, problem) if evaluation is not None and evaluation.score_us is not None else None


def case_beside_seed(number: int, state: RunState, problem: ProblemInfo) -> str | None:
    """The case on which the seed was profiled, else the trial's own; None where the trial has no time."""
    own, seed = case_of(number, state, problem), state.seed
    before = state.profiles.get(seed.number) if seed is not None else None
    return before.profiles[0].case if own and before is not None and before.profiles else own


def take_profiles(worker: Worker, candidate: Candidate, case: str) -> Profiles:
    """The profile, or the reason why there is none: a run continues without it."""
    try:
        return Profiles(profiles=(worker.profile(candidate, case),))
    except (RequestError, MachineError) as error:
        return Profiles(failed=str(error))
