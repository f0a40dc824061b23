"""The report of a run as one JSON document, for scripts.

It has the same facts as the text. Times are microseconds under names that end in `_us`, and `timing_kind` says whether
they were measured.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kernelwright.codec import plain
from kernelwright.model import Trial
from kernelwright.report.control_arm import control_document
from kernelwright.report.cost import cost_document, run_usage
from kernelwright.report.framework import against_framework
from kernelwright.report.state import state_of
from kernelwright.report.trials import outcome, tally
from kernelwright.report.view import RunView, share_of_bound
from kernelwright.run import Outcome
from kernelwright.search.convergence import convergence

SCHEMA_VERSION = 1


def report_document(view: RunView) -> dict[str, Any]:
    """What the text report says, as plain data. best: the confirmed one; leader: the search's lowest score."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": str(view.folder),
        "problem": view.info.problem.name,
        "dtype": view.info.problem.dtype,
        "library": view.info.problem.library,
        "settings": plain(view.info.settings),
        "created": view.info.created,
        "starter": _trial(view.seed, view),
        "leader": _trial(view.leader, view),
        "best": _trial(view.best, view),
        "against_framework": plain(against_framework(view)),
        "convergence": [{**asdict(row), "timing_kind": view.timing_kind} for row in convergence(view.trials)],
        "trials_by_status": tally(view.trials),
        "open": [request.number for request in view.open_requests],
        "state": state_of(view),
        "stopped": view.sessions[-1].reason if view.sessions else None,
        "usage": plain(run_usage(view)),
        "cost": cost_document(view),
        "lanes": {name: plain(asdict(lane)) for name, lane in view.lanes.items()},
        "control": control_document(view),
        "seconds": view.at_work_s,
        "environment": plain(view.info.environment),
    }


def session_document(view: RunView, outcome: Outcome) -> dict[str, Any]:
    """The report at the end of a session, and why the session ended."""
    return {**report_document(view), "reason": outcome.reason, "detail": outcome.detail}


def trial_document(trial: Trial, view: RunView) -> dict[str, Any]:
    """One trial whole, with its confirmation where there was one."""
    return {**plain(trial), "confirmation": plain(view.confirmed.get(trial.number))}


def _trial(trial: Trial | None, view: RunView) -> dict[str, Any] | None:
    evaluation = view.figure(trial)
    if trial is None or evaluation is None:
        return None
    candidate = trial.proposal.candidate
    seed = view.seed
    is_measured = evaluation.timing_kind == "measured"
    speedup = seed.score_us / evaluation.score_us if seed and seed.score_us and evaluation.score_us else None
    return {
        "trial": trial.number,
        "round": trial.request.round,
        "author": trial.proposal.author,
        "status": outcome(trial),
        "config": candidate.config if candidate is not None else {},
        "score_us": evaluation.score_us,
        "timing_kind": evaluation.timing_kind,
        "speedup": speedup if is_measured else None,
        "fraction_of_bound": share_of_bound(evaluation, view.info.problem.cases),
        "verified_on": evaluation.verified_on,
        "unqualified": evaluation.unqualified,
        "serves": plain(evaluation.serves),
        "dead": evaluation.dead,
        "constant": evaluation.constant,
        "precision": evaluation.precision,
        "kernels": plain(evaluation.kernels),
        "cases": plain(evaluation.results),
    }
