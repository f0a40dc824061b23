"""A tuning as text and as a document."""

from __future__ import annotations

import json
from typing import Any

from kernelwright.codec import encode
from kernelwright.model import Status
from kernelwright.report.tuning import progress_lines, size_text, tried_line, tuning_document, tuning_text
from kernelwright.spaces.samplers.simple import exhaustive
from kernelwright.spaces.space import Config, Parameter, Space
from kernelwright.tune import Outcome, Settings, tune
from tuned import BEST, SOURCE, SPACE, FakeDevice, problem


def outcome(*cases: str, **device: Any) -> Outcome:
    named = cases or ("big",)
    fake = FakeDevice(cases=named, **device)
    settings = Settings(sampler="exhaustive")
    return tune(fake, SPACE, problem=problem(*named), candidate=SOURCE, settings=settings, sampler=exhaustive)


def fails(config: Config) -> tuple[Status, str] | None:
    if config["BLOCK"] == 512:
        return Status.COMPILE_ERROR, "too much shared memory"
    return (Status.TIMEOUT, "endless") if config["BLOCK"] == 32 and config["k.num_warps"] < 8 else None


def test_the_report_has_the_curve_the_failures_by_kind_the_pick_and_why() -> None:
    text = tuning_text(outcome(fails=fails))
    assert "double on Fake GPU: times are measured" in text
    assert "16 tried, 4 refused before a launch" in text
    assert "generation  configs  failures  median (µs, measured)" in text
    assert "  compile_error: 4\n" in text
    assert "  timeout: 3, 3 of them when they ran" in text
    assert "endless" in text
    assert "1.210 times as fast as the default (95 %: 1.209 to 1.211)" in text
    assert "why: faster than the default; confirmed with fresh inputs" in text
    assert "BLOCK=256 (was 128), k.num_warps=8 (was 4)" in text
    assert "sampled in turn, in pairs" in text


def test_the_report_says_what_one_config_for_all_cases_costs() -> None:
    text = tuning_text(outcome("big", "wide"))
    assert "choice for all cases" in text
    assert "case wide" in text
    assert "one config for all cases takes 1.049 times as long as each case's own" in text


def test_times_that_were_not_measured_are_called_so_everywhere() -> None:
    replayed = tuning_text(outcome(kind="replayed", pairs=False))
    assert "times are replayed from a record, nothing ran" in replayed
    assert "measured" not in replayed
    assert replayed.count("replayed)") >= 5
    estimated = tuning_text(outcome(kind="estimate", pairs=False))
    assert "times are estimates, nothing was timed" in estimated
    assert "measured" not in estimated


def test_where_nothing_passed_the_report_says_so() -> None:
    text = tuning_text(outcome(fails=lambda config: (Status.WRONG, "off by 2")))
    assert text.endswith("no config passed; nothing is chosen")
    assert "wrong: 20, 20 of them when they ran" in text


def test_what_was_not_confirmed_is_named() -> None:
    text = tuning_text(outcome(fails_again=lambda config: (Status.WRONG, "fresh") if config == BEST else None))
    assert "was not chosen, its confirmation failed: wrong: fresh" in text


def test_where_nothing_was_confirmed_the_report_says_so_with_every_reason() -> None:
    text = tuning_text(outcome(fails_again=lambda config: (Status.WRONG, "small: off by 2")))
    assert "no config passed again; nothing is chosen" in text
    assert "default was not chosen, its confirmation failed: wrong: small: off by 2" in text


def test_the_document_says_what_the_text_says() -> None:
    document = json.loads(encode(tuning_document(outcome("big", "wide", fails=fails))))
    assert document["joint"]["kind"] == document["kind"] == "measured"
    assert document["cases"][0]["config"] == {"BLOCK": 256, "k.num_warps": 8}
    assert document["space"]["size"] == 20
    assert [row["status"] for row in document["failures"]] == ["compile_error", "timeout"]
    assert len(document["learning_curve"]) > 1
    assert len(document["tried"]) == 20
    assert document["cost_of_one"] == 1.0


def test_a_line_of_progress_has_the_time_or_the_reason() -> None:
    found = outcome(fails=fails)
    assert tried_line(found.default, "measured") == "default: 121.0 µs (measured)"
    refused = next(one for one in found.tried if not one.launched)
    assert tried_line(refused, "measured").endswith("compile_error: too much shared memory")


def test_what_is_refused_before_anything_runs_is_one_line_and_a_new_best_is_called_so() -> None:
    tried = outcome(fails=fails).tried
    refused = [one for one in tried if not one.launched]
    ran = [one for one in tried if one.launched and one.score_us is not None]
    slow, fast = max(ran, key=lambda one: one.score_us or 0), min(ran, key=lambda one: one.score_us or 0)
    assert [line for count in range(1, len(refused) + 1) for line in progress_lines(refused[:count], "measured")] == []
    first = progress_lines([*refused, slow], "measured")
    assert first[0] == f"refused before anything ran: {len(refused)}; the first: too much shared memory"
    assert first[1:] == [tried_line(slow, "measured")]
    assert progress_lines([*refused, slow, fast], "measured") == [tried_line(fast, "measured") + ", the best so far"]
    assert progress_lines([*refused, fast, slow], "measured") == [tried_line(slow, "measured")]
    assert progress_lines([*refused, fast, refused[0]], "measured") == [tried_line(refused[0], "measured")]


def test_a_very_large_restricted_space_is_not_counted() -> None:
    wide = tuple(Parameter(name=f"B{number}", choices=(1, 2, 4, 8), default=1) for number in range(10))
    assert size_text(Space(parameters=wide)) == "1048576"
    assert size_text(Space(parameters=wide, restrictions=("B0 < 8",))) == "at most 1048576"
