"""The report of a run."""

from __future__ import annotations

import shlex
from dataclasses import replace

import msgspec

from kernelwright.model import (
    Budget,
    CaseResult,
    Clocks,
    Counter,
    Evaluation,
    LaunchProfile,
    Operator,
    Profile,
    Status,
    Usage,
    sum_of,
)
from kernelwright.report.commands import repeat_commands
from kernelwright.report.document import report_document
from kernelwright.report.page import html_page, markdown_page
from kernelwright.report.text import report_text
from kernelwright.report.verdict import confirmed_on, verdict_text
from samples import failed, passed, run_view, short_run, trial


def test_the_first_lines_say_what_was_found_and_how_sure_that_is() -> None:
    measured = verdict_text(run_view(short_run(True), confirmed={4: passed(26.0, True)}, device="H200")).splitlines()
    assert measured[0] == "softmax: 26.00 µs, 1.54x as fast as the starter's 40.00 µs, 62 % of the bound"
    assert measured[1] == "trial 4 by builtin, confirmed on fresh inputs and 0 of 1 held-out case (the rest not here)"
    assert "not timed beside PyTorch in this run: the ratio is to the starter alone" in measured


def test_an_estimate_is_in_no_ratio_and_is_not_confirmed() -> None:
    text = verdict_text(run_view(short_run(), confirmed={4: passed(26.0)}))
    lines = text.splitlines()
    assert lines[0] == "softmax: 26.00 µs (estimate)"
    assert lines[1] == "trial 4 by builtin, verified again on fresh inputs and 0 of 1 held-out case (the rest not here)"
    assert "confirmed" not in text
    assert "PyTorch" not in text, "nothing was timed, so nothing is missing"
    assert lines[2] == "verified on Triton's CPU interpreter, small cases only: plausible, not run on a GPU"


def test_held_out_cases_are_claimed_only_where_they_passed() -> None:
    odd = CaseResult(case="odd", status=Status.PASSED)
    evaluation = passed(26.0, measured=True)
    judged = msgspec.structs.replace(evaluation, results=(*evaluation.results, odd))
    assert confirmed_on(judged, run_view(())) == "confirmed on fresh inputs and every held-out case"
    unjudged = msgspec.structs.replace(odd, status=Status.NOT_VERIFIED)
    skipped = msgspec.structs.replace(evaluation, results=(*evaluation.results, unjudged))
    assert "0 of 1 held-out case" in confirmed_on(skipped, run_view(()))


def test_the_confirmation_says_what_no_judged_case_exercised() -> None:
    odd = CaseResult(case="odd", status=Status.PASSED)
    unjudged = ("line 3: when rows > 4", "never exercised: join: splits (5 on case timed)", "never exercised: k: n (2)")
    judged = msgspec.structs.replace(passed(26.0, measured=True), results=(odd,), unjudged=unjudged)
    assert confirmed_on(judged, run_view(())) == (
        "confirmed on fresh inputs and every held-out case; never exercised: join: splits (5 on case timed) and 1 more"
    )


def test_a_leader_without_confirmation_is_not_called_a_result() -> None:
    text = verdict_text(run_view(short_run(measured=True), device="NVIDIA H200"))
    assert text.startswith("leading: ")
    assert "trial 4: not confirmed, so not a result" in text
    estimated = verdict_text(run_view(short_run()))
    assert estimated == "first: softmax: 25.00 µs (estimate)\ntrial 4: not measured, so not a result"


def test_a_refused_confirmation_is_said_with_its_reason() -> None:
    refused = failed(Status.WRONG, "odd: last row is off")
    lines = verdict_text(run_view(short_run(), confirmed={4: refused, 1: passed(31.0)})).splitlines()
    assert lines[0] == "softmax: 31.00 µs (estimate)"
    assert lines[-1] == (
        "trial 4 does not count: 25.00 µs (estimate) in the search, but its confirmation ended as wrong: "
        "odd: last row is off"
    )


def test_a_gain_that_its_confirmation_did_not_show_is_no_improvement() -> None:
    trials = short_run(measured=True)[:2]
    text = verdict_text(run_view(trials, confirmed={1: passed(40.5, measured=True)}, device="NVIDIA H200"))
    assert text.startswith(
        "no improvement: the starter is still the best after 1 further trial\nsoftmax: 40.00 µs, 40 %"
    )
    assert "but its confirmation took 40.50 µs, not surely less than the starter" in text


def test_no_improvement_and_no_kernel_are_said_plainly() -> None:
    seed = short_run()[0]
    worse = trial(1, passed(41.0))
    assert verdict_text(run_view((seed, worse))).startswith(
        "no improvement: the starter is still the best after 1 further trial\n"
    )
    nothing = (
        trial(0, failed(), round=0, operator=Operator.SEED, parents=()),
        trial(1, failed(Status.TIMEOUT, "2 s")),
    )
    assert verdict_text(run_view(nothing)) == "no kernel passed (1 timeout, 1 wrong)"
    assert "Best kernel" not in report_text(run_view(nothing))


def test_a_lead_within_the_intervals_is_called_a_tie() -> None:
    seed, ahead = (
        trial(number, timed(passed(score_us, measured=True), half_us=0.5), round=number, operator=operator, parents=())
        for number, score_us, operator in ((0, 40.0, Operator.SEED), (1, 39.8, Operator.IMPROVE))
    )
    text = verdict_text(run_view((seed, ahead), device="NVIDIA H200"))
    assert text.startswith("no improvement: the starter is still the best")
    assert text.endswith(
        "trial 1 took 39.80 µs in the search: a tie, as the intervals overlap, and ties change nothing"
    )


def timed(evaluation: Evaluation, half_us: float) -> Evaluation:
    """The same with an interval of that half width around each time."""
    results = [
        msgspec.structs.replace(
            result,
            timing=result.timing
            and msgspec.structs.replace(
                result.timing, ci95_us=(result.timing.median_us - half_us, result.timing.median_us + half_us)
            ),
        )
        for result in evaluation.results
    ]
    return msgspec.structs.replace(evaluation, results=tuple(results))


def test_nothing_stands_where_a_written_kernel_does_not_pass_again() -> None:
    first = trial(0, passed(40.0), round=0, operator=Operator.IMPROVE, parents=())
    view = replace(run_view((first,), confirmed={0: failed(Status.WRONG, "odd: off")}))
    view = replace(view, info=msgspec.structs.replace(view.info, starter=None))
    text = verdict_text(view)
    assert text.startswith(
        "no kernel is confirmed: what passed in the search did not pass again\ntrial 0 does not count"
    )


def test_the_report_has_all_its_sections() -> None:
    text = report_text(run_view(short_run(), confirmed={4: passed(26.0)}))
    for section in (
        "softmax: report of one\n======",
        "Convergence\n  starter: 40.00 µs (estimate)",
        "Trials by status (6 in all)\n  passed: 4\n  no_candidate: 1\n  wrong: 1",
        "Best kernel: trial 4\n  config: softmax_kernel.BLOCK=4096",
        "Cases\n  Bounds: datasheet sm_90. Errors are relative to the output's own scale.\n\n  case ",
        "Cost\n  12 s in 1 session\n  models: none asked",
        "none (compiled for sm_90; nothing was timed)",
        "How to repeat it\n  kernelwright optimize softmax --strategy beam",
    ):
        assert section in text, section


def test_usage_is_summed_and_an_unknown_price_is_said() -> None:
    trials = (
        trial(1, passed(30.0), usage=Usage(input_tokens=10, output_tokens=5, cost_usd=0.5, seconds=1.0, requests=1)),
        trial(2, passed(30.0), usage=Usage(input_tokens=20, output_tokens=5, seconds=2.0, requests=2)),
    )
    total = sum_of([trial.proposal.usage for trial in trials])
    assert total == Usage(input_tokens=30, output_tokens=10, cost_usd=0.5, seconds=3.0, requests=3)
    assert "the price of 1 proposal is unknown" in report_text(run_view(trials))


def test_the_commands_to_repeat_a_run_carry_all_its_settings() -> None:
    view = run_view(
        short_run(),
        strategy="greedy",
        strategy_options={"repairs": 2},
        proposer="openai",
        proposer_options={"model": "some model"},
        seed=7,
        in_flight=3,
        dtype="float16",
        starter="my starter.py",
        budget=Budget(trials=1000000, usd=1.5),
    )
    words = shlex.split(repeat_commands(view)[0])
    assert words[:3] == ["kernelwright", "optimize", "softmax"]
    for pair in (
        ["--strategy", "greedy"],
        ["--option", "repairs=2"],
        ["--proposer-option", "model=some model"],
        ["--seed", "7"],
        ["--in-flight", "3"],
        ["--trials", "1000000"],
        ["--usd", "1.5"],
        ["--dtype", "float16"],
        ["--starter", "my starter.py"],
    ):
        assert any(words[at : at + 2] == pair for at in range(len(words))), pair


def test_the_kernel_is_judged_again_as_the_run_judged_it() -> None:
    """In its own dtype it would be another kernel, and a problem that does not qualify is refused unless asked for."""
    view = run_view(short_run(), confirmed={4: passed(26.0)}, dtype="float16", cases="stated", unqualified=True)
    again, verify, bench, profile = repeat_commands(view)
    assert again.endswith("--dtype float16 --cases stated --unqualified")
    for verb, words in (("verify", verify), ("bench", bench)):
        judged = "--dtype float16 --cases stated --unqualified"
        assert words == f"kernelwright {verb} softmax runs/one/best_kernel.py {judged}"
    assert profile == "kernelwright profile softmax runs/one/best_kernel.py --dtype float16"


def test_cases_that_were_derived_and_the_usual_target_need_no_option_and_another_target_does() -> None:
    view = run_view(short_run(), confirmed={4: passed(26.0)}, cases="derived")
    assert not [words for words in repeat_commands(view) if "--cases" in words or "--target" in words]
    elsewhere = msgspec.structs.replace(view.info.environment, target="sm_100")
    view = replace(view, info=msgspec.structs.replace(view.info, environment=elsewhere))
    assert all(words.partition("--target ")[2].startswith("sm_100") for words in repeat_commands(view))


def test_what_holds_the_best_back_is_said_with_who_read_it() -> None:
    counters = (Counter(name="l1_throughput", value=0.9, unit="fraction", tool="ncu"),)
    profile = Profile(
        implementation="x", case="square", device="Fake GPU", target="sm_90", tool="ncu",
        launches=(LaunchProfile(kernel="softmax_kernel", counters=counters),),
    )  # fmt: skip
    view = run_view(short_run(measured=True), {4: passed(26.0, measured=True)}, device="Fake GPU")
    text = report_text(replace(view, profiles={4: (profile,)}))
    assert "What holds it back\n  Cache in softmax_kernel. " in text
    assert "(square; counters by ncu)" in text
    assert "(square; no counter of a GPU was read)" in report_text(view)


def throttled(evaluation: Evaluation, *reasons: str) -> Evaluation:
    """Every time of an evaluation taken with these throttle reasons."""
    clocks = Clocks(sm_mhz=1500, throttle=reasons)
    results = tuple(
        msgspec.structs.replace(one, timing=msgspec.structs.replace(one.timing, clocks=clocks)) if one.timing else one
        for one in evaluation.results
    )
    return msgspec.structs.replace(evaluation, results=results)


def test_a_throttled_time_says_so_beside_its_figure_in_every_view() -> None:
    confirmed = throttled(passed(26.0, measured=True), "power_cap")
    view = run_view(short_run(measured=True), confirmed={4: confirmed}, device="NVIDIA H200")
    said = "square: throttled while it was timed: power_cap (SM clock 1500 MHz)"
    assert said in report_text(view)
    assert said in html_page(view)
    assert said.replace("_", r"\_") in markdown_page(view)
    cases = {case["case"]: case for case in report_document(view)["best"]["cases"]}
    assert cases["square"]["timing"]["clocks"]["throttle"] == ("power_cap",)
    assert "throttled" not in report_text(run_view(short_run(measured=True), confirmed={4: passed(26.0)}))


def test_a_gain_over_a_starter_that_was_timed_under_a_forced_slowdown_is_not_confirmed() -> None:
    seed, better = trial(0, throttled(passed(40.0), "hardware_thermal"), parents=()), trial(1, passed(25.0))
    seed = msgspec.structs.replace(seed, request=short_run()[0].request)
    view = run_view((seed, better), confirmed={1: passed(26.0)})
    assert view.best is seed
    assert "throttled: not confirmed, as the starter was timed under hardware_thermal" in verdict_text(view)
    at_its_power = trial(0, throttled(passed(40.0), "power_cap"), parents=())
    at_its_power = msgspec.structs.replace(at_its_power, request=seed.request)
    assert run_view((at_its_power, better), confirmed={1: passed(26.0)}).best is better
    hot = throttled(passed(26.0), "hardware_thermal")
    cool = msgspec.structs.replace(seed, evaluation=passed(40.0))
    assert run_view((cool, better), confirmed={1: hot}).best is better, "a slowdown of its own makes no gain"
