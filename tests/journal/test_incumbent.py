"""Which candidate later ones race against: the best of those that were surely faster than what they raced against."""

from __future__ import annotations

from kernelwright.journal import Event, EventKind, RunState
from kernelwright.model import Candidate, CaseResult, Evaluation, Proposal, Status, Timing

TIME = "2026-11-21T10:00:00+00:00"


def raced(us: float, gained: bool | None) -> Evaluation:
    timing = Timing(kind="measured", median_us=us, gained=gained)
    return Evaluation(
        status=Status.PASSED, score_us=us, results=(CaseResult(case="big", status=Status.PASSED, timing=timing),)
    )


def incumbent_after(*evaluations: Evaluation) -> str:
    state = RunState()
    for number, evaluation in enumerate(evaluations):
        proposal = Proposal(author="me", candidate=Candidate(source=str(number)))
        for kind, payload in ((EventKind.PROPOSED, proposal), (EventKind.EVALUATED, evaluation)):
            state.take(Event(seq=state.seq + 1, kind=kind, number=number, time=TIME, payload=payload))
    incumbent = state.incumbent()
    assert incumbent is not None
    return incumbent.candidate.source


def test_what_is_surely_faster_becomes_the_incumbent() -> None:
    assert incumbent_after(raced(100.0, None), raced(90.0, True)) == "1"


def test_a_lucky_tie_does_not_become_the_incumbent() -> None:
    """Its ratio is to a new measurement of the incumbent: a hundred ties would each gain what noise gives them."""
    assert incumbent_after(raced(100.0, None), raced(99.8, False)) == "0"


def test_before_there_is_anything_to_race_against_the_fastest_leads() -> None:
    assert incumbent_after(raced(100.0, None), raced(95.0, None)) == "1"


def test_a_gain_over_an_older_incumbent_leads_only_where_it_is_the_fastest() -> None:
    assert incumbent_after(raced(100.0, None), raced(80.0, True), raced(90.0, True)) == "1"
