"""What a run cost, per operator, per trial and per gain."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kernelwright.model import CaseResult, Evaluation, Operator, Profile, Proposal, Status, Timing, Trial, Usage
from kernelwright.report.cost import cost_document, cost_sections, costs, diffs_text, until_best
from kernelwright.report.view import RunView
from kernelwright.text.table import section_text
from samples import failed, passed, run_view, trial

STAGES_S = {"record": 9.0, "compile": 2.0, "verify": 1.0, "time": 3.0}
USAGE = Usage(input_tokens=100, cached_tokens=60, output_tokens=20, cost_usd=0.5, seconds=7.0, requests=1)


def took(evaluation: Evaluation) -> Evaluation:
    return msgspec.structs.replace(evaluation, stages_s=STAGES_S)


RUN = (
    trial(0, took(passed(40.0)), round=0, operator=Operator.SEED, parents=()),
    trial(1, took(passed(30.0)), round=1, usage=USAGE),
    trial(2, took(failed()), round=1, usage=USAGE),
    trial(3, took(passed(35.0)), round=1, operator=Operator.REPAIR, parents=(2, 0), usage=USAGE),
    trial(4, took(passed(20.0)), round=2, operator=Operator.MERGE, parents=(1, 3), usage=USAGE),
)


def cost_text(view: RunView) -> str:
    return "\n".join(map(section_text, cost_sections(view)))


def row(text: str, name: str) -> list[str]:
    return next(line.strip()[len(name) :].split() for line in text.splitlines() if line.strip().startswith(name))


def test_a_line_per_operator_and_shares_per_trial_and_per_gain() -> None:
    text = cost_text(run_view(RUN, device="NVIDIA H200"))
    header = next(line for line in text.splitlines() if "asked" in line)
    assert " ".join(header.split()) == "asked passed gains tokens from cache USD model (s) compiler (s) GPU (s)"
    assert row(text, "improve") == ["2", "1", "1", "240", "120", "1.0000", "14.0", "4.0", "8.0"]
    assert row(text, "repair") == ["1", "1", "0", "120", "60", "0.5000", "7.0", "2.0", "4.0"]
    assert row(text, "all") == ["5", "4", "2", "480", "240", "2.0000", "28.0", "10.0", "20.0"]
    assert row(text, "per trial") == ["96", "48", "0.4000", "5.6", "2.0", "4.0"]
    assert row(text, "per gain") == ["240", "120", "1.0000", "14.0", "5.0", "10.0"]


def test_a_run_without_a_gain_has_no_price_of_one() -> None:
    assert set(row(cost_text(run_view(RUN[:1])), "per gain")) == {"-"}


def test_time_to_the_best_counts_what_was_spent_until_then() -> None:
    view = replace(run_view((*RUN, trial(5, took(passed(50.0)), round=3))), finished_s={4: 60.0})
    found = until_best(view)
    assert found is not None
    assert (found.trial, found.trials, found.seconds, found.gpu_s) == (4, 5, 60.0, 20.0)
    assert "time to best (trial 4): 1 min 0 s at work, 5 trials, 20.0 interpreter (s)" in cost_text(view)
    assert until_best(run_view(RUN[:1])) is None


def test_the_document_has_the_same_figures() -> None:
    document = cost_document(run_view(RUN))
    assert document["by_operator"]["improve"]["gained"] == 1
    assert document["total"]["usage"]["cost_usd"] == pytest.approx(2.0)
    assert document["until_best"]["trials"] == 5


def test_gains_of_measured_times_need_intervals_that_do_not_overlap() -> None:
    def gained(half_us: float) -> int:
        def about(score_us: float) -> Evaluation:
            timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us - half_us, score_us + half_us))
            results = (CaseResult(case="square", status=Status.PASSED, timing=timing),)
            return msgspec.structs.replace(passed(score_us, measured=True), results=results)

        seed = trial(0, about(40.0), round=0, operator=Operator.SEED, parents=())
        return costs(run_view((seed, trial(1, about(38.0)))))["improve"].gained

    assert (gained(half_us=0.5), gained(half_us=2.0)) == (1, 0)


def test_diffs_are_counted_by_what_became_of_them() -> None:
    def edited(edit: str | None) -> Trial:
        proposal = msgspec.convert({"author": "x", "error": "no", "edit": edit}, Proposal)
        return Trial(request=RUN[1].request, proposal=proposal)

    assert diffs_text([edited("applied"), edited("applied"), edited("failed"), edited(None)]) == (
        "diffs: 2 applied, 0 mended, 1 failed"
    )
    assert diffs_text(RUN) == ""


def test_the_time_that_profiles_took_is_the_gpus() -> None:
    profile = Profile(
        implementation="x", case="square", device="GPU", target="sm_90", tool="ncu", launches=(), seconds=12.0
    )
    plain_view = run_view(RUN, device="NVIDIA H200")
    view = replace(plain_view, profiles={0: (profile,)})
    assert costs(view)["seed"].gpu_s == costs(plain_view)["seed"].gpu_s + 12.0
    assert "profile     12.0" in cost_text(view)


def test_the_share_of_the_gpus_time_is_said_where_there_is_one() -> None:
    view = run_view(RUN, device="NVIDIA H200")
    share = view.gpu_s / view.at_work_s
    assert share > 0
    assert f"GPU busy: {share:.0%}".replace("%", " %") + " of that time" in cost_text(view)
    assert "GPU busy" not in cost_text(run_view(RUN))
