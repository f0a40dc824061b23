"""The report as a JSON document."""

from __future__ import annotations

import json

from kernelwright.codec import document_text
from kernelwright.report.document import report_document, trial_document
from samples import passed, run_view, short_run


def test_the_document_says_what_the_text_says() -> None:
    document = json.loads(document_text(report_document(run_view(short_run(True), confirmed={4: passed(26.0, True)}))))
    assert document["best"]["trial"] == 4
    assert document["best"]["score_us"] == 26.0
    assert document["best"]["timing_kind"] == "measured"
    assert round(document["best"]["speedup"], 3) == 1.538
    assert document["starter"]["score_us"] == 40.0
    assert [row["best_so_far_us"] for row in document["convergence"]] == [40.0, 30.0, 25.0]
    assert document["trials_by_status"] == {"passed": 4, "no_candidate": 1, "wrong": 1}
    assert document["settings"]["problem"] == "softmax"
    assert document["stopped"] == "done"


def test_an_estimate_is_in_no_ratio() -> None:
    document = report_document(run_view(short_run(), confirmed={4: passed(26.0)}))
    assert document["best"]["timing_kind"] == "estimate"
    assert document["best"]["speedup"] is None


def test_a_leader_is_not_the_best_until_it_is_confirmed() -> None:
    document = report_document(run_view(short_run()))
    assert document["best"] is None
    assert document["leader"]["trial"] == 4


def test_a_trial_carries_its_confirmation() -> None:
    trials = short_run()
    document = trial_document(trials[4], run_view(trials, confirmed={4: passed(26.0)}))
    assert document["confirmation"]["score_us"] == 26.0
    assert document["evaluation"]["score_us"] == 25.0
    assert trial_document(trials[0], run_view(trials))["confirmation"] is None
