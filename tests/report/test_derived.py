"""Derived cases in what `check` and a verdict print."""

from __future__ import annotations

import msgspec

from fakes import PROBLEM
from kernelwright.model import Case, CaseResult, Evaluation, Status
from kernelwright.report.derived import derived_document, derived_text
from kernelwright.report.evaluation import evaluation_text, unseen_texts

DERIVED = msgspec.structs.replace(
    PROBLEM.cases[0], case=Case(name="derived_odd", small=True, held_out=True, derived=True, params={"rows": 7})
)
CASES = (*PROBLEM.cases, DERIVED)
LEFT = {"axis": "sum would get dim = 0 instead of 1", "stride": "it stays", "padding": "it stays"}


def test_sizes_and_numbers_that_are_left_alone_are_listed_with_their_reasons() -> None:
    problem = msgspec.structs.replace(PROBLEM, cases=CASES, left_alone=LEFT)
    text = derived_text(problem)
    assert "  derived_odd: rows = 7 (" in text
    assert "held out)" in text
    assert "  axis: sum would get dim = 0 instead of 1" in text
    assert "  stride, padding: it stays" in text
    document = derived_document(problem)
    assert document == {"cases": {"derived_odd": {"rows": 7}}, "left_alone": LEFT, "tied": {}}


SIZED = """
def get_inputs(rows=4, width=8, keys=4, alone=3):
    return [
        drawn("q", rows, width),
        drawn("k", keys, width),
        drawn("mask", keys, keys),
        drawn("other", alone),
    ]


def get_init_inputs(alone=3, heads=2):
    return [alone, heads]
"""


def test_sizes_that_share_a_number_are_named() -> None:
    names = ("q", "k", "mask", "other")
    cases = (msgspec.structs.replace(PROBLEM.cases[0], input_names=names),)
    problem = msgspec.structs.replace(PROBLEM, cases=cases, source=SIZED)
    assert derived_document(problem)["tied"] == {
        "width": ["q", "k"],
        "keys": ["k", "mask", "mask"],
        "alone": ["other", "Model"],
    }
    assert "tied, one number for several sizes:\n  width: q, k\n  keys: k, mask, mask\n" in derived_text(problem)


def test_without_derived_cases_the_reason_is_said_and_nothing_where_none_was_wanted() -> None:
    assert derived_text(PROBLEM) == ""
    assert (
        derived_text(msgspec.structs.replace(PROBLEM, left_alone={"": "too large"})) == "no derived cases: too large\n"
    )
    more = msgspec.structs.replace(PROBLEM, cases=CASES, left_alone={"": "it does not run"})
    assert "no more cases: it does not run" in derived_text(more)


def test_a_verdict_names_the_derived_cases_that_decided_and_the_distributions_that_were_not_seen() -> None:
    results = (
        CaseResult(case="derived_odd", status=Status.PASSED),
        CaseResult(case="big", status=Status.PASSED, unseen=("with ties", "huge")),
    )
    text = evaluation_text(Evaluation(status=Status.PASSED, results=results), CASES)
    assert "derived, not stated by the problem: derived_odd" in text
    assert "not seen on big (too large): with ties, huge" in text
    stated = evaluation_text(Evaluation(status=Status.PASSED, results=results[:0]), CASES)
    assert "derived, not" not in stated


def test_many_large_cases_share_a_line_that_names_what_was_seen_on_none() -> None:
    large = [
        CaseResult(case=f"big{n}", status=Status.PASSED, unseen=("huge", "with ties")[: 1 + n % 2]) for n in range(4)
    ]
    small = CaseResult(case="small", status=Status.PASSED)
    start = "4 of {} cases are too large for all distributions, 1 to 2 not seen on each; "
    assert unseen_texts([*large, small]) == [start.format(5) + "each was seen on other cases"]
    assert unseen_texts(large) == [start.format(4) + "seen on no case: huge"]
    not_judged = CaseResult(case="too large for this machine", status=Status.NOT_VERIFIED)
    assert unseen_texts([*large, not_judged]) == [start.format(5) + "seen on no case: huge"]
    assert len(unseen_texts(large[:3])) == 3
