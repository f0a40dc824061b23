"""The state of a problem's search, for the report of one run and the table of several."""

from __future__ import annotations

import enum

from kernelwright.model import Evaluation, Status
from kernelwright.report.view import RunView


class State(enum.StrEnum):
    """What a search has found. The list is closed, and figures of two members are never averaged together."""

    OWN = "own kernels"
    """A confirmed kernel, judged at other sizes than those that are timed."""
    CAPTURED = "captured sizes only"
    """The same, judged at the timed sizes only: its host code refuses others, or there are none."""
    ANY = "library any"
    """A confirmed kernel of a search that allows library calls."""
    PLAUSIBLE = "plausible"
    """A kernel that passed where there is no GPU, which confirms none."""
    KEPT = "starter kept"
    """Nothing confirmed is better than the user's own kernel."""
    NO_KERNEL = "no kernel"
    """No candidate passed."""
    SEARCHING = "searching"
    LEFT = "left"
    """A library call is the computation, and it is near its bound."""
    REFUSED = "refused"
    """The problem cannot be judged, or nothing can be its first kernel: see the reason."""
    NOT_JUDGED = "not judged"
    """The worker was lost."""
    NOT_BEGUN = "not begun"


SOLVED = frozenset({State.OWN, State.CAPTURED, State.ANY, State.PLAUSIBLE})


def state_of(view: RunView) -> State:
    """The state of a run."""
    if view.best is None:
        return State.SEARCHING if view.standing is None else State.NO_KERNEL
    if view.info.environment.device is None:
        return State.PLAUSIBLE
    if view.best.number not in view.confirmed:
        return State.KEPT
    if view.info.problem.library == "any":
        return State.ANY
    return State.OWN if passed_elsewhere(view.confirmed[view.best.number], view) else State.CAPTURED


def passed_elsewhere(evaluation: Evaluation, view: RunView) -> bool:
    """Whether a kernel passed on a case of other sizes than the first timed one."""
    cases = {info.case.name: info.case for info in view.info.problem.cases}
    timed = next(case.params for case in cases.values() if case.timed)
    return any(
        result.status is Status.PASSED and result.case in cases and cases[result.case].params != timed
        for result in evaluation.results
    )
