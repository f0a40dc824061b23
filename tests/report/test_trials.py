"""Trials as text."""

from __future__ import annotations

import msgspec

from kernelwright.model import Exchange, Reflection, Usage
from kernelwright.report.trials import tally, tokens_text, trial_text, trials_table
from samples import BLOCK, passed, run_view, short_run, trial


def test_every_trial_has_a_row_and_the_confirmed_best_a_mark() -> None:
    view = run_view(short_run(), confirmed={4: passed(26.0)})
    rows = [line.split() for line in trials_table(view).splitlines()]
    assert [row[0] for row in rows[1:7]] == ["0", "1", "2", "3", "4", "5"]
    assert rows[5][:8] == ["4", "*", "2", "improve", "1", "builtin", "passed", "25.00"]
    assert rows[6][:6] == ["5", "2", "improve", "1", "builtin", "no_candidate"]
    assert rows[6][-3:] == ["reply", "without", "code"]


def test_the_tally_counts_proposals_that_failed() -> None:
    assert tally(short_run()) == {"passed": 4, "no_candidate": 1, "wrong": 1}


def test_one_trial_is_shown_whole() -> None:
    shown = trial(
        1,
        passed(30.0),
        config={BLOCK: 2048},
        usage=Usage(input_tokens=900, output_tokens=80, cost_usd=0.0125, requests=1),
    )
    text = trial_text(shown, run_view((shown,), confirmed={1: passed(31.0)}))
    assert text.startswith("trial 1, round 1: improve of 0, by builtin\nnote 1")
    assert "900 tokens in, 80 out, 0.0125 USD" in text
    assert "30.00 µs (estimate)" in text
    assert "confirmation, in a fresh process" in text
    assert "31.00 µs (estimate)" in text
    assert "BLOCK=2048" in text


def test_what_a_cache_served_is_shown_with_what_was_written_to_it() -> None:
    usage = Usage(input_tokens=900, cached_tokens=700, cache_written_tokens=50, output_tokens=80)
    assert tokens_text(usage) == "900 tokens in (700 from the cache, 50 written to it), 80 out, price unknown"
    assert tokens_text(Usage(input_tokens=9)) == "9 tokens in, 0 out, price unknown"


def test_a_config_that_does_not_fit_is_said_above_the_source() -> None:
    shown = trial(1, passed(30.0), config={"OTHER": 2})
    text = trial_text(shown, run_view((shown,)))
    assert "# config {'OTHER': 2} not written in" in text
    assert "BLOCK=1024" in text


def test_what_an_author_said_of_a_trial_and_of_a_surprise_is_shown() -> None:
    trials = list(short_run())
    proposal = msgspec.structs.replace(
        trials[1].proposal,
        expected=1.5,
        diagnosis="overruled: the loads are wide",
        edit="mended",
        exchanges=(Exchange(kind="reflect", prompt="p", reply="r"),),
        reflection=Reflection(trial=0, lesson="It waits."),
    )
    trials[1] = msgspec.structs.replace(trials[1], proposal=proposal)
    text = trial_text(trials[1], run_view(tuple(trials)))
    assert "expected: 1.50x as fast as its first parent" in text
    assert "of the diagnosis that it was given it says: overruled: the loads are wide" in text
    assert "written as a diff: mended" in text
    assert "asked beside it: reflect" in text
    assert "of trial 0 it says: It waits. (not passed on: its claims do not all hold, or there is none)" in text
